"""A long response within the limit: browser and server together stay far below what they would hold of it at once."""

import hashlib
import os
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, request
from tests.site.fixture import FixtureSite
from tests.site.wire import Request, Response, html
from tests.slow.conftest import clean_server

pytestmark = [pytest.mark.slow, pytest.mark.browser]

BODY_BYTES = 200_000_000
LIMIT_BYTES = 1_500_000_000
ONE_PIECE_BYTES = 2_300_000_000
"""For what the browser tells only at its end, as one answer: a `Blob`."""
LIMITS = {"CAPTURE_MAX_RESPONSE_BYTES": "250000000", "CAPTURE_MAX_TASK_BYTES": "300000000"}
CAPTURE_S = 145
PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
AS_IT_COMES = "fetch('/long').then(r => r.body.pipeTo(new WritableStream({write() {}})))"
WHOLE = "fetch('/long').then(r => r.arrayBuffer())"
TEXT = "fetch('/long').then(r => r.text())"
BLOB = "fetch('/long').then(r => r.blob())"
READS = {
    "as it comes": f"<script>{AS_IT_COMES}</script>",
    "whole": f"<script>{WHOLE}</script>",
    "as text, slow to decode": f"<script>{TEXT}</script>",
    "as text in a worker": "<script>new Worker('/reads-text-in-worker')</script>",
    "as a Blob": f"<script>{BLOB}</script>",
    "in a frame of another site": "<iframe src='OTHER/reads-in-frame'></iframe>",
    "in a worker": "<script>new Worker('/reads-in-worker')</script>",
}


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureServer]:
    with clean_server(tmp_path_factory.mktemp("roomy"), **LIMITS) as running:
        yield running


PIECE = os.urandom(100_000)


def long(_: Request) -> Response:
    async def produce() -> AsyncIterator[bytes]:
        for _ in range(BODY_BYTES // len(PIECE)):
            yield PIECE

    return Response(body=produce, content_type="application/octet-stream")


class Peak:
    """`held_bytes` is the most that the process tree held: each process's share of what it maps (PSS)."""

    held_bytes = 0


def digest_of_long() -> str:
    digest = hashlib.sha256()
    for _ in range(BODY_BYTES // len(PIECE)):
        digest.update(PIECE)
    return digest.hexdigest()


@contextmanager
def watched(server: CaptureServer) -> Iterator[Peak]:
    peak, over = Peak(), threading.Event()

    def look() -> None:
        root = psutil.Process(server.process.pid)
        while not over.wait(0.1):
            peak.held_bytes = max(peak.held_bytes, sum(map(share_bytes, [root, *root.children(recursive=True)])))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()


def share_bytes(process: psutil.Process) -> int:
    try:
        found = PSS.search(Path(f"/proc/{process.pid}/smaps_rollup").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


@pytest.mark.parametrize("how", [*READS, "as a download"])
def test_long_response_is_kept_whole_within_the_memory(roomy: CaptureServer, site: FixtureSite, how: str) -> None:
    site.set("/long", long)
    body = READS.get(how, "").replace("OTHER", site.origin(1))
    site.set("/reads", html(f"<!doctype html><title>long</title>{body}"))
    site.set("/reads-in-worker", Response(body=WHOLE.encode(), content_type="text/javascript"))
    site.set("/reads-text-in-worker", Response(body=TEXT.encode(), content_type="text/javascript"))
    site.set("/reads-in-frame", html(f"<!doctype html><script>{WHOLE}</script>"))
    wait = {"minMs": 0, "maxMs": 60_000, "quietMs": 500, "networkConcurrency": 0}
    path = "/reads" if how in READS else "/long"
    with watched(roomy) as peak:
        answer = roomy.post(request(site.url(0, path), loadWait=wait), timeout_s=CAPTURE_S).json()
    report = answer["report"]
    print(how, f"{peak.held_bytes / 1e9:.2f} GB", report["captureProcessingTimeMs"], "ms")
    assert report["status"] == "success", report["errorDetails"]
    assert report["completeness"]["complete"] is True
    (record,) = Archive.of(report).responses("/long")  # `warcio` checks its digest
    assert hashlib.sha256(record.body).hexdigest() == digest_of_long()
    assert 0 < peak.held_bytes < (ONE_PIECE_BYTES if how == "as a Blob" else LIMIT_BYTES)
