"""The flow that extracts, from a real Prefect, against a real ledger with captures in its store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import flows.extract_pages
import flows.extraction_process
from blocks.init import BlockValues, init_blocks
from flows.extract_pages import extract_pages
from tests.fakes.extractor_programs import program
from tests.fakes.prefect_api import FakePrefect
from tests.integration.flows.conftest import FAST, PrefectServer
from tests.integration.ledger.desk import Desk, Json, ledger_at
from tests.integration.ledger.extracting import add, capture_level, dispatched, order, pin

pytestmark = pytest.mark.prefect

SEEDS = [f"http://127.0.0.2/{number}" for number in range(3)]


@pytest.fixture
def desk(tmp_path: Path, prefect: PrefectServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A ledger, and Blocks that lead to it. Its runs are handed to a Prefect that only keeps them."""
    monkeypatch.setattr(flows.extract_pages, "PACING", FAST)
    with FakePrefect() as fake, ledger_at(tmp_path / "data", tmp_path / "store", fake) as running:
        init_blocks(
            BlockValues(
                ledger_url=running.url,
                ledger_token=running.flows_token,
                ledger_trigger_token=running.flows_token,
                ledger_tls_ca_pem="",
                capture_urls=["http://127.0.0.1:9"],
                capture_token="",
                capture_tls_ca_pem="",
                compiler_url="http://127.0.0.1:9",
                compiler_token="",
                compiler_tls_ca_pem="",
            )
        )
        yield running


def captured(desk: Desk) -> str:
    """A crawl whose only level is closed and whose extraction waits for its run."""
    crawl_id = desk.start(*SEEDS, maxDepth=0, extractors=[pin(), pin("links", "/[12]$")])
    capture_level(desk, crawl_id)
    dispatched(desk, crawl_id)
    return crawl_id


def catalogue(desk: Desk) -> None:
    links = 'collection "links" { select "a"; field "href" type="string" { value "attr" name="href" } }'
    add(desk)
    add(desk, "links", program("links", links))


def rows(desk: Desk, crawl_id: str) -> list[tuple[str, str, Json]]:
    found = desk.get(f"/api/crawls/{crawl_id}/extractions")["extractions"]
    return [(row["url"], row["extractor"], row.get("value") or row["error"]["code"]) for row in found]


def test_run_extracts_everything_that_waits_and_says_what_came_of_it(desk: Desk) -> None:
    catalogue(desk)
    crawl_id = captured(desk)
    state = extract_pages(crawl_id, 1, return_state=True)
    assert state.is_completed(), state.message
    assert state.message == f"Crawl {crawl_id}, extraction 1: 5 extracted, 0 failed"
    assert rows(desk, crawl_id) == [
        (SEEDS[0], "facts", {"title": SEEDS[0]}),
        (SEEDS[1], "facts", {"title": SEEDS[1]}),
        (SEEDS[1], "links", {"title": SEEDS[1], "links": []}),
        (SEEDS[2], "facts", {"title": SEEDS[2]}),
        (SEEDS[2], "links", {"title": SEEDS[2], "links": []}),
    ]
    progress = desk.crawl(crawl_id)["extraction"]
    assert (progress["state"], progress["extracted"], progress["pending"]) == ("idle", 5, 0)


def test_page_that_is_wrong_gets_its_code_and_the_others_their_values(desk: Desk) -> None:
    catalogue(desk)
    crawl_id = desk.start(*SEEDS, maxDepth=0, extractors=[pin()])
    capture_level(desk, crawl_id)
    dispatched(desk, crawl_id)
    files = {
        page["url"]: Path(page["artifacts"]["html"].removeprefix("file://"))
        for page in desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    }
    files[SEEDS[0]].unlink()
    files[SEEDS[1]].write_bytes(b"\xff")
    state = extract_pages(crawl_id, 1, return_state=True)
    assert state.is_completed(), state.message
    assert [said for *_, said in rows(desk, crawl_id)] == [
        "E_PAGE_HTML_UNREADABLE",
        "E_HTML_DECODE",
        {"title": SEEDS[2]},
    ]
    assert desk.crawl(crawl_id)["state"] == "succeeded"


def test_page_that_ends_every_process_that_reads_it_costs_itself_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows.extraction_process, "CHILD_MODULE", "tests.fakes.dying_child")
    catalogue(desk)
    crawl_id = desk.start(*SEEDS, maxDepth=0, extractors=[pin()])
    capture_level(desk, crawl_id)
    dispatched(desk, crawl_id)
    page = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"][1]
    Path(page["artifacts"]["html"].removeprefix("file://")).write_text("<title>DIE</title>")
    assert extract_pages(crawl_id, 1, return_state=True).is_completed()
    said = [said for *_, said in rows(desk, crawl_id)]
    assert said == [{"title": SEEDS[0]}, "E_PAGE_KILLED_ITS_PROCESS", {"title": SEEDS[2]}]


def test_run_that_is_not_the_crawls_ends_quietly_and_changes_nothing(desk: Desk) -> None:
    catalogue(desk)
    crawl_id = captured(desk)
    order(desk, crawl_id, "somebody-else")
    for number, reason in ((1, "somebody-else"), (2, "extraction 2 has ended")):
        state = extract_pages(crawl_id, number, return_state=True)
        assert (state.name, state.is_completed()) == ("Stale", True)
        assert reason in (state.message or "")
    assert extract_pages("c0", 1, return_state=True).name == "Stale"
    assert rows(desk, crawl_id) == []


def test_ledger_that_is_away_for_good_fails_the_run_and_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue(desk)
    crawl_id = captured(desk)

    def refuse(*_: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(desk.parts.extractions, "take", refuse)
    state = extract_pages(crawl_id, 1, return_state=True)
    assert state.is_failed()
    assert (state.message or "").startswith("[extract] results were not taken within 4 s")
    progress = desk.crawl(crawl_id)["extraction"]
    assert (progress["state"], progress["pending"]) == ("running", 5)
