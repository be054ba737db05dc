"""The content types that artifacts are handed over with."""

from pathlib import PurePosixPath

TYPES = {
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".html": "text/html",
    ".png": "image/png",
    ".webp": "image/webp",
    ".mhtml": "multipart/related",
    ".wacz": "application/wacz",
}


def media_type(name: str) -> str:
    """By the name's last extension."""
    return TYPES.get(PurePosixPath(name).suffix, "application/octet-stream")
