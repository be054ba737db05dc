"""Captures as capture servers leave them in a store: day folders, names by correlation id, a WACZ with its pages."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comity.archive.wacz import Page, pages_jsonl
from tests.integration.ledger.desk import Json, tried

Put = Callable[[str, bytes], str]
"""From a key and bytes to the location."""


@dataclass(frozen=True)
class Stored:
    """A capture in a store: where its files are, and what its flow run reports."""

    manifest: str
    artifacts: dict[str, str]
    result: Json


def into(root: Path) -> Put:
    """A store that is a folder."""

    def put(key: str, data: bytes) -> str:
        place = root / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        return place.as_uri()

    return put


def wacz(url: str, title: str = "", text: str = "") -> bytes:
    """A package with a page list and a record that is no record: what the ledger reads of one."""
    out = io.BytesIO()
    page = Page(page_id="1", url=url, date=datetime.now(UTC), title=title or None, text=text or None)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as package:
        package.writestr("archive/data.warc.gz", b"\0" * 300_000)
        package.writestr("pages/pages.jsonl", pages_jsonl([page]))
        package.writestr("datapackage.json", b"{}")
    return out.getvalue()


def store(
    put: Put,
    crawl_id: str,
    page: Json,
    *,
    attempt: int = 1,
    number: int = 1,
    title: str = "",
    text: str = "",
    html: str | None = None,
    links: list[str] | None = None,
    status: str = "success",
    task_id: str | None = None,
    reported: str = "captured",
    without: tuple[str, ...] = (),
    **manifest: Any,
) -> Stored:
    """One capture with its files; those in `without` are left out."""
    url, now = page["url"], datetime.now(UTC)
    task_id = task_id or f"t{page['pageId'][1:8]}{attempt}{number}"
    stem = f"{now:%Y/%m/%d}/{task_id}_{crawl_id}.{page['pageId']}.{attempt}.{number}"
    files = {"wacz": (".wacz", wacz(url, title, text))}
    if links is not None:
        found = {"url": url, "finalUrl": url, "links": [{"href": link} for link in links]}
        files["links"] = (".links.json", json.dumps(found).encode())
    if html is not None:
        files["html"] = (".html", html.encode())
    artifacts = {name: put(stem + ending, data) for name, (ending, data) in files.items() if name not in without}
    told = {
        "taskId": task_id,
        "correlationId": f"{crawl_id}.{page['pageId']}.{attempt}.{number}",
        "url": url,
        "finalUrl": url,
        "labels": [],
        "status": status,
        "httpStatusCode": 200,
        "timestamp": now.isoformat(),
        "captureProcessingTimeMs": 1500,
        "artifacts": artifacts if status == "success" else {},
        **manifest,
    }
    location = put(f"{stem}.result.json", json.dumps(told).encode())
    result = {
        "pageId": page["pageId"],
        "url": url,
        "status": reported,
        "taskId": task_id,
        "manifestLocation": location,
        "tries": [tried(number=number, task_id=task_id)],
        **({"reason": "as reported"} if reported == "failed" else {}),
    }
    return Stored(location, artifacts, result)
