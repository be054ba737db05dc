"""Typed data out of a crawl's captured pages: one row for each page, and not one more request at the site."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from comity.contract.extraction import AddExtractor
from tests.e2e.conftest import ROOT, Stack
from tests.integration.ledger.desk import wait_until
from tests.site import FixtureSite
from tests.site.demo import EXTRACTOR

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect, pytest.mark.timeout(600)]


def test_a_crawl_gives_one_row_a_page_without_another_visit(stack: Stack, site: FixtureSite, tmp_path: Path) -> None:
    added = stack.ledger.add_extractor(AddExtractor(id="page-facts", source=EXTRACTOR.read_text()))
    pins = [{"id": "page-facts", "urlPattern": "."}]
    wanted = {"maxDepth": 1, "maxPages": 5, "perHostDelayMs": 0, "scripts": [], "extractors": pins}
    crawl_id = stack.start(seeds=[site.seeds[0]], **wanted)
    crawl = stack.finished(crawl_id, within_s=240)
    assert (crawl.state, crawl.error) == ("succeeded", None)
    asked = len(site.log)

    def over() -> bool:
        progress = stack.ledger.crawl(crawl_id).extraction
        assert progress is None or progress.state != "stopped", progress
        return progress is not None and progress.state == "idle"

    wait_until(over, "everything is extracted", 240)
    captured = [page for page in stack.ledger.pages(crawl_id).pages if page.state == "captured"]
    rows = stack.ledger.extractions(crawl_id).extractions
    assert len(captured) >= 3
    assert [row.page_id for row in rows] == [page.page_id for page in captured]
    assert {(row.state, row.version) for row in rows} == {("extracted", added.version)}
    assert len(site.log) == asked, "the site was asked again"

    # What the program gives when a person runs it over the same page.
    page = captured[0]
    html = Path(page.artifacts["html"].removeprefix("file://"))
    done = stack.comity("extract", "run", str(EXTRACTOR), "--html", str(html), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["value"] == rows[0].value

    # Everybody's own format.
    for kind in ("jsonl", "csv", "parquet"):
        target = tmp_path / f"rows.{kind}"
        done = stack.comity("extract", "export", crawl_id, "--output", str(target))
        assert done.returncode == 0, done.stderr
    titles = [row.value["title"] for row in rows if row.value is not None]
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [line["value"]["title"] for line in lines] == titles
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert [line["title"] for line in csv.DictReader(file)] == titles
    assert pq.read_table(tmp_path / "rows.parquet").column("title").to_pylist() == titles
    assert str(ROOT) not in (tmp_path / "rows.csv").read_text()
