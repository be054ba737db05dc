"""A capture server that shares no folder with its ledger: artifacts go through the ledger's own sink."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer, path_of, request
from tests.integration.ledger.desk import ledger_at, tried
from tests.site.fixture import FixtureSite

pytestmark = pytest.mark.browser


def test_capture_lands_with_the_ledger_and_is_admitted_by_it(tmp_path: Path, site: FixtureSite) -> None:
    with FakePrefect() as prefect, ledger_at(tmp_path / "data", tmp_path / "kept", prefect, sink=True) as desk:
        crawl_id = desk.start(site.url(0, "/"), maxDepth=1)
        order = desk.order(crawl_id)
        [page] = order["frontier"]
        correlation = f"{crawl_id}.{page['pageId']}.1.1"
        wanted = {"artifactSink": order["artifactSink"], "correlationId": correlation, "labels": ["ラベル"]}
        prefixes = json.dumps([f"{desk.url}/api/sink"])
        with CaptureServer(tmp_path / "store", **QUICK, CAPTURE_SINK_PREFIXES=prefixes) as server:
            answer = server.post(request(page["url"], "wacz", "html", "links", "png", **wanted))
            assert answer.status_code == 200, answer.text
            told = answer.json()
            report = told["report"]
            assert report["status"] == "success", report
            assert not list(server.store.rglob("*.*")), "nothing is kept here"

            expired = {**order["artifactSink"], "token": "1.x"}
            refused = server.post(request(page["url"], "html", **{**wanted, "artifactSink": expired})).json()
            assert refused["report"]["errorDetails"]["type"] == "artifact_sink"

        files = [path_of(location) for location in (*report["artifacts"].values(), told["manifest"]["location"])]
        assert len(files) == 5
        for path in files:
            assert path.is_relative_to(desk.root / "sink" / crawl_id)
            assert path.stat().st_size > 0
        with zipfile.ZipFile(path_of(report["artifacts"]["wacz"])) as package:
            assert package.testzip() is None
        result = {
            "pageId": page["pageId"],
            "url": page["url"],
            "status": "captured",
            "taskId": told["taskId"],
            "linksLocation": report["artifacts"]["links"],
            "manifestLocation": told["manifest"]["location"],
            "tries": [tried(task_id=told["taskId"])],
        }
        assert desk.report(crawl_id, [result])["stop"] is False
        assert desk.crawl(crawl_id)["counts"]["captured"] == 1
        assert desk.close(crawl_id)["next"], "its links were read from the sink"
        everything = b"".join(path.read_bytes() for path in desk.root.rglob("*") if path.is_file())
        assert order["artifactSink"]["token"].encode() not in everything
