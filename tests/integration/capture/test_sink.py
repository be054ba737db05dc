"""Artifacts go to the sink that the request names, and a sink that fails is told as such."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer, request
from tests.site.fixture import FixtureSite
from tests.site.wire import Request, Response

pytestmark = pytest.mark.browser


class SinkHost:
    """The fixture web's third host as a sink."""

    def __init__(self, site: FixtureSite) -> None:
        self.site = site
        self.url = site.url(2, "/sink/c1")
        self.taken: dict[str, bytes] = {}
        self.fails: list[Response] = []

    def answer(self, asked: Request) -> Response:
        if self.fails:
            return self.fails.pop(0)
        if asked.method != "PUT" or asked.headers.get("authorization") != "Bearer let-me":
            return Response(status=404)
        name = asked.path.rpartition("/")[2]
        self.taken[name] = asked.body
        return Response(body=json.dumps({"location": f"s3://kept/{name}"}).encode(), content_type="application/json")


@pytest.fixture(scope="module")
def sinking(tmp_path_factory: pytest.TempPathFactory, site: FixtureSite) -> Iterator[CaptureServer]:
    prefixes = json.dumps([site.url(2, "/sink")])
    folder: Path = tmp_path_factory.mktemp("sinking")
    with CaptureServer(
        folder / "store", **QUICK, CAPTURE_SINK_PREFIXES=prefixes, CAPTURE_SINK_SILENCE_MS="1500"
    ) as running:
        yield running


@pytest.fixture
def sink(site: FixtureSite) -> Iterator[SinkHost]:
    host = SinkHost(site)
    site.set_below("/sink/", host.answer)
    yield host
    site.restore()


def to_sink(server: CaptureServer, site: FixtureSite, sink: SinkHost, token: str = "let-me") -> dict[str, Any]:
    wanted = {"artifactSink": {"url": sink.url, "token": token}, "correlationId": "c1.p1.1.1", "trace": True}
    answer = server.post(request(site.url(0, "/zoo/landed"), "wacz", "html", "links", **wanted))
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_sink_gets_every_artifact_and_the_manifest(sinking: CaptureServer, site: FixtureSite, sink: SinkHost) -> None:
    answer = to_sink(sinking, site, sink)
    report = answer["report"]
    assert report["status"] == "success"
    stem = f"{report['taskId']}_c1.p1.1.1"
    for kind, suffix in (("wacz", ".wacz"), ("html", ".html"), ("links", ".links.json")):
        assert report["artifacts"][kind] == f"s3://kept/{stem}{suffix}"
        assert sink.taken[f"{stem}{suffix}"]
    assert answer["manifest"] == {"location": f"s3://kept/{stem}.result.json"}
    assert json.loads(sink.taken[f"{stem}.result.json"]) == report
    assert report["traceLocation"] == f"s3://kept/{stem}.trace.jsonl"
    assert b"let-me" not in sink.taken[f"{stem}.wacz"]
    assert not list(sinking.store.rglob("*.*")), "nothing is kept here"


def test_sink_that_recovers_gets_whole_files(sinking: CaptureServer, site: FixtureSite, sink: SinkHost) -> None:
    sink.fails = [Response(status=503), Response(drop=True)]
    report = to_sink(sinking, site, sink)["report"]
    assert report["status"] == "success"
    wacz = sink.taken[report["artifacts"]["wacz"].rpartition("/")[2]]
    with zipfile.ZipFile(io.BytesIO(wacz)) as package:
        assert package.testzip() is None


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ([Response(status=404)], "refused"),
        ([Response(body=b"{}")], "told no location"),
        ([Response(drop=True)] * 3, "in 3 tries"),
        ([Response(status=500)] * 3, "answered 500"),
        ([Response(status=307, headers=(("Location", "http://127.0.0.1:1/"),))], "refused"),
    ],
    ids=["refusing", "without-location", "hanging-up", "broken", "redirecting"],
)
def test_sink_that_takes_nothing_ends_as_artifact_sink(
    sinking: CaptureServer, site: FixtureSite, sink: SinkHost, fails: list[Response], said: str
) -> None:
    sink.fails = list(fails)
    answer = to_sink(sinking, site, sink)
    report = answer["report"]
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "artifact_sink")
    assert said in report["errorDetails"]["message"]
    assert report["artifacts"] == {}
    assert answer["manifest"]["location"].startswith("s3://kept/")


def test_silent_sink_ends_as_artifact_sink_and_so_does_its_manifest(
    sinking: CaptureServer, site: FixtureSite, sink: SinkHost
) -> None:
    sink.fails = [Response(silent=True)] * 9
    answer = to_sink(sinking, site, sink)
    assert answer["report"]["errorDetails"]["type"] == "artifact_sink"
    assert answer["report"]["captureProcessingTimeMs"] < 10_000
    assert set(answer["manifest"]) == {"error"}


def test_sink_elsewhere_is_refused_and_never_asked(sinking: CaptureServer, site: FixtureSite) -> None:
    site.clear_log()
    elsewhere = {"url": site.url(1, "/sink"), "token": "let-me"}
    refused = sinking.post(request(site.url(0, "/zoo/landed"), artifactSink=elsewhere))
    assert refused.status_code == 400
    assert refused.json()["fieldList"][0]["path"] == "/artifactSink/url"
    assert not site.log
