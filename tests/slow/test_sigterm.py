"""A server that is told to end is gone within 5 s, whatever its capture is waiting for, and leaves nothing behind."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from comity.cli.signing import init_signing
from tests.fakes.s3 import s3_server
from tests.fakes.time_stamping import TimeStampServer, make_authority
from tests.integration.capture.faulty_line import FaultyLine
from tests.integration.capture.server import CaptureServer, request, until
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html
from tests.slow.conftest import clean_server

pytestmark = [pytest.mark.slow, pytest.mark.browser]

END_S = 5.0
ACCEPTED_S = 60
HELD_OPEN = {"minMs": 40_000, "maxMs": 40_000, "quietMs": 0, "networkConcurrency": 0}


@pytest.mark.parametrize("captures", [0, 1])
def test_idle_server_is_gone_within_5_s(tmp_path: Path, site: FixtureSite, captures: int) -> None:
    with clean_server(tmp_path) as server:
        for _ in range(captures):
            assert server.capture(site.url(0, "/zoo/landed"))["status"] == "success"
        assert server.end() < END_S


@contextmanager
def capturing(server: CaptureServer, wanted: dict[str, Any], under_way: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    """A capture in the middle of what it is to be ended in; what it answered is there when the block has ended."""
    answer: dict[str, Any] = {}

    def ask() -> None:
        with suppress(httpx.RemoteProtocolError):
            got = server.post(wanted, timeout_s=200)
            answer.update(got.json() if got.status_code == 200 else {"status": got.status_code})

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert until(under_way, ACCEPTED_S)
        yield answer
    finally:
        server.end()
        asking.join()


def assert_cancelled(server: CaptureServer, answer: dict[str, Any]) -> None:
    """The caller is told, the manifest says the same, and no artifact is left."""
    report = answer["report"]
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "cancelled"), report["errorDetails"]
    assert server.manifests() == [report]
    assert [path.name for path in server.store.rglob(f"*{report['taskId']}*")] == [f"{report['taskId']}.result.json"]


def assert_nothing_is_promised(answer: dict[str, Any]) -> None:
    """Where the manifest cannot be written in time either, the caller hears of a lost capture, if of anything."""
    assert answer.get("status", 500) == 500
    assert answer.get("report", {}).get("artifacts", {}) == {}


@pytest.mark.parametrize("path", ["/stall/silent", "/stall/body?bytes=60", "/zoo/landed", "/spins"])
@pytest.mark.parametrize("frozen", [False, True], ids=["browser runs", "browser frozen"])
def test_server_with_a_page_before_it_is_gone_within_5_s(
    tmp_path: Path, site: FixtureSite, path: str, frozen: bool
) -> None:
    site.set("/spins", html("<!doctype html><script>setTimeout(() => { while (true); }, 0)</script>"))
    site.clear_log()
    wanted = request(site.url(0, path), "png", "wacz", loadWait=HELD_OPEN)
    with (
        clean_server(tmp_path) as server,
        capturing(server, wanted, lambda: any(entry.path == path for entry in site.log)) as answer,
    ):
        if frozen:
            os.killpg(server.browser().pid, signal.SIGSTOP)
        assert server.end() < END_S
    assert_cancelled(server, answer)


def test_server_whose_sink_is_silent_is_gone_within_5_s(tmp_path: Path, site: FixtureSite) -> None:
    site.set_below("/sink/", lambda _: Response(silent=True))
    site.clear_log()
    wanted = request(site.url(0), artifactSink={"url": site.url(2, "/sink"), "token": "t"})
    with (
        clean_server(tmp_path, CAPTURE_SINK_PREFIXES=json.dumps([site.url(2, "/sink")])) as server,
        capturing(server, wanted, lambda: any("/sink" in entry.path for entry in site.log)) as answer,
    ):
        assert server.end() < END_S
    site.restore()
    assert_nothing_is_promised(answer)


def test_server_whose_bucket_is_silent_is_gone_within_5_s(tmp_path: Path, site: FixtureSite) -> None:
    with s3_server() as bucket:
        at = urlsplit(bucket.endpoint)
        with FaultyLine(at.hostname or "", at.port or 0) as line:
            settings = dict(bucket.settings) | {"COMITY_S3_ENDPOINT": f"http://127.0.0.1:{line.port}"}
            with clean_server(tmp_path, **settings, CAPTURE_STORE="") as server:
                line.fail("stall", after_bytes=0)
                with capturing(server, request(site.url(0)), line.struck.is_set) as answer:
                    assert server.end() < END_S
    assert_nothing_is_promised(answer)


def test_server_whose_time_stamp_authority_is_silent_is_gone_within_5_s(tmp_path: Path, site: FixtureSite) -> None:
    init_signing(tmp_path / "keys")
    with TimeStampServer(make_authority(tmp_path / "tsa"), "silent") as stamps:
        signing = {
            "CAPTURE_SIGNING": "required",
            "CAPTURE_SIGNING_KEY": str(tmp_path / "keys" / "NOT-FOR-PRODUCTION-signing-key.pem"),
            "CAPTURE_SIGNING_CHAIN": str(tmp_path / "keys" / "NOT-FOR-PRODUCTION-signing-chain.pem"),
            "CAPTURE_SIGNING_TSA_URL": stamps.url,
            "CAPTURE_SIGNING_TSA_CA": str(stamps.authority.root_file),
        }
        with (
            clean_server(tmp_path, **signing) as server,
            capturing(server, request(site.url(0)), lambda: stamps.asked) as answer,
        ):
            assert server.end() < END_S
        assert_cancelled(server, answer)
