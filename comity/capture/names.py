"""File names of a capture's artifacts, and what makes them too long."""

from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Literal

from comity.contract.capture import MAX_NAME_BYTES

Kind = Literal["png", "webp", "html", "links", "mhtml", "wacz", "trace", "result"]
FORMATS: tuple[Kind, ...] = ("png", "webp", "html", "links", "mhtml", "wacz")
"""What a request may ask for, and a report locate."""

EXTENSIONS: dict[Kind, str] = {
    "png": ".png",
    "webp": ".webp",
    "html": ".html",
    "links": ".links.json",
    "mhtml": ".mhtml",
    "wacz": ".wacz",
    "trace": ".trace.jsonl",
    "result": ".result.json",
}
LONGEST_EXTENSION_BYTES = max(len(extension) for extension in EXTENSIONS.values())


def stem(task_id: str, correlation_id: str | None, labels: list[str]) -> str:
    """`{taskId}_{correlationId}[_{labels}]`; labels are joined by `_`, which no label and no id contains."""
    return "_".join([task_id, *([correlation_id] if correlation_id else []), *labels])


def file_name(name_stem: str, kind: Kind) -> str:
    """The artifact's whole file name."""
    return f"{name_stem}{EXTENSIONS[kind]}"


def excess_bytes(name_stem: str) -> int:
    """By how many UTF-8 bytes the longest name of this capture is over the limit; 0 or less: it fits."""
    return len(name_stem.encode("utf-8")) + LONGEST_EXTENSION_BYTES - MAX_NAME_BYTES


def day_folder(moment: datetime) -> PurePosixPath:
    """`{YYYY}/{MM}/{DD}` in UTC, so that no folder grows without end."""
    return PurePosixPath(moment.astimezone(UTC).strftime("%Y/%m/%d"))
