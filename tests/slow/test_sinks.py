"""Sinks that stall, at the times of service: the capture ends as `artifact_sink` inside its budget."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.integration.capture.server import CaptureServer, request
from tests.site.fixture import FixtureSite
from tests.site.wire import Request, Response
from tests.slow.conftest import assert_only_one_profile_is_left, clean_server

pytestmark = [pytest.mark.slow, pytest.mark.browser]

CAPTURE_S = 130
MANIFEST_S = 10


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, site: FixtureSite) -> Iterator[CaptureServer]:
    folder: Path = tmp_path_factory.mktemp("capture")
    with clean_server(folder, CAPTURE_SINK_PREFIXES=json.dumps([site.url(2, "/sink")])) as running:
        yield running


def trickle(_: Request) -> Response:
    """A byte now and then, never an end: no single silence is long enough to be one."""

    async def produce() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(5)
            yield b" "

    return Response(body=produce, content_type="application/json")


@pytest.mark.parametrize("how", ["silent", "trickling"])
def test_stalled_sink_ends_the_capture_inside_its_budget(server: CaptureServer, site: FixtureSite, how: str) -> None:
    site.set_below("/sink/", trickle if how == "trickling" else lambda _: Response(silent=True))
    started = time.monotonic()
    wanted = request(site.url(0), "wacz", "html", artifactSink={"url": site.url(2, "/sink"), "token": "t"})
    answer = server.post(wanted, timeout_s=CAPTURE_S + MANIFEST_S + 10).json()
    took_s = time.monotonic() - started
    report = answer["report"]
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "artifact_sink"), report["errorDetails"]
    assert report["captureProcessingTimeMs"] <= CAPTURE_S * 1000 + 1000
    assert took_s < CAPTURE_S + MANIFEST_S + 3
    assert set(answer["manifest"]) == {"error"}
    site.restore()
    assert server.capture(site.url(0))["status"] == "success"
    assert_only_one_profile_is_left(server)
