import json
from pathlib import Path

import pytest
from rich.console import Console

from comity.cli.summary import Archive, as_json, folder_of, path_of, render_summary, replay_hint, summarize
from comity.contract.ledger import LastRun, PageView
from tests.unit.cli.facts import at, audit, crawl, died, page, visit

PAGES = [
    page("/", artifacts={"wacz": "file:///data/a%20b.wacz", "html": "file:///data/a.html"}, visits=[visit(0, 1)]),
    page("/1", depth=1, artifacts={"wacz": "s3://bucket/b.wacz"}, visits=[visit(1.2, 2)]),
    page("/2", "failed", depth=1, reason="http_error: 404"),
    page("/3", "failed", depth=1, reason="http_error: 404"),
    page("/4", "skipped", depth=1, reason="robots-disallowed"),
]
AUDITS = [audit(smallest_gap_ms=200, broken=1)]
ADDRESSES = {"ledger": "http://127.0.0.1:21001", "prefectUi": "http://127.0.0.1:21002"}


def shown(state: str, **more: object) -> str:
    console = Console(width=160)
    with console.capture() as capture:
        console.print(render_summary(summarize(crawl(PAGES, state, **more), PAGES, AUDITS), ADDRESSES, hint="so it is"))
    return capture.get()


def test_pages_are_grouped_by_outcome_and_reason() -> None:
    outcomes = summarize(crawl(PAGES), PAGES).outcomes
    assert [(one.state, one.reason, one.pages) for one in outcomes] == [
        ("captured", "", 2),
        ("failed", "http_error: 404", 2),
        ("skipped", "robots-disallowed", 1),
    ]
    assert outcomes[1].example == "http://a.test/2"


def test_summary_says_what_a_person_wants_to_know() -> None:
    text = shown("succeeded", stop_reason="max_depth", finished_at=at(42))
    assert "succeeded (max_depth): 2 of 5 pages captured on 1 host over 2 levels in 42 s" in text
    for said in ("http_error: 404", "/data/a b.wacz", "s3://bucket/b.wacz", ADDRESSES["ledger"], "so it is"):
        assert said in text


def test_a_broken_promise_is_named() -> None:
    line = next(line for line in shown("succeeded").splitlines() if "0.20 s" in line)
    assert "1.00 s" in line
    assert "broken" in line


def test_a_promise_that_changed_shows_both_ends() -> None:
    pages = [page("/")]
    changed = audit(smallest_gap_ms=5000, promised_ms=5000, least_promised_ms=1000)
    console = Console(width=160)
    with console.capture() as capture:
        console.print(render_summary(summarize(crawl(pages), pages, [changed]), ADDRESSES))
    line = next(line for line in capture.get().splitlines() if "1.00-5.00 s" in line)
    assert "kept" in line


def test_a_failed_crawl_shows_its_reason() -> None:
    assert "[compile] TS2339" in shown("failed", error="[compile] TS2339: no such member")


def test_archives_of_one_store_name_its_folder_once() -> None:
    archives = [Archive("http://a/", "/data/2030/01/a.wacz"), Archive("http://b/", "/data/2030/02/b.wacz")]
    assert folder_of(archives) == "/data/2030"
    assert folder_of([*archives, Archive("http://c/", "s3://bucket/c.wacz")]) == ""
    assert folder_of([]) == ""


def many(count: int) -> list[PageView]:
    """Pages with archives in two folders of one store; addresses too long for one line, names as they really are."""
    return [
        page(
            f"/{number}/" + "long/" * 30,
            artifacts={
                "wacz": f"file:///store/2030/0{1 + number % 2}/t{number:016x}_c853df6126da33a35.p{0:016x}.1.1.wacz"
            },
        )
        for number in range(count)
    ]


def lines_of(pages: list[PageView], width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(render_summary(summarize(crawl(pages), pages), ADDRESSES))
    return capture.get().splitlines()


def test_many_archives_are_cut_and_counted() -> None:
    assert sum("wacz" in line for line in lines_of(many(20), 100)) == 20
    assert not any("more" in line for line in lines_of(many(20), 100))
    lines = lines_of(many(22), 100)
    assert sum(".wacz" in line for line in lines) == 20
    assert "and 2 more in that folder" in lines
    elsewhere = [*many(21), page("/s3", artifacts={"wacz": "s3://bucket/x.wacz"})]
    assert "and 2 more listed by the ledger: GET /api/crawls/c1/pages" in lines_of(elsewhere, 200)


@pytest.mark.parametrize("width", [85, 100, 200])
def test_each_archive_is_one_line_below_its_folder(width: int) -> None:
    lines = lines_of(many(3), width)
    at_line = lines.index("3 archives in /store/2030")
    table = lines[at_line + 2 : at_line + 5]
    assert [line.split()[-1] for line in table] == [
        f"0{1 + number % 2}/t{number:016x}_c853df6126da33a35.p{0:016x}.1.1.wacz" for number in range(3)
    ]
    assert [line.split("/")[3][0] for line in table] == ["0", "1", "2"]
    assert "WACZ player" in lines[at_line + 5]


def test_json_holds_everything_and_is_json() -> None:
    facts = json.loads(json.dumps(as_json(summarize(crawl(PAGES), PAGES, AUDITS), ADDRESSES)))
    assert facts["crawl"]["id"] == "c1"
    assert [archive["path"] for archive in facts["archives"]] == ["/data/a b.wacz", "s3://bucket/b.wacz"]
    [host] = facts["politeness"]
    assert (host["host"], host["visits"], host["smallestGapMs"], host["kept"]) == ("a.test", 2, 200, False)


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("file:///x/y.wacz", "/x/y.wacz"),
        ("file:///x/%E3%81%82.wacz", "/x/あ.wacz"),
        ("s3://b/k%20.wacz", "s3://b/k%20.wacz"),
    ],
)
def test_only_file_locations_become_paths(location: str, path: str) -> None:
    assert path_of(location) == path


def test_hint_shows_how_to_see_the_pages_with_and_without_the_stack() -> None:
    local = [page("/", artifacts={"wacz": "file:///my%20data/a.wacz"})]
    summary = summarize(crawl(local), local)
    assert replay_hint(summary, Path("/my data"), stack_stays=True) == [
        "see the pages: comity replay c1 --data '/my data'"
    ]
    assert replay_hint(summary, Path("/my data"), stack_stays=False) == ["see the pages: comity replay '/my data'"]
    assert replay_hint(summarize(crawl([]), []), Path("/my data"), stack_stays=True) == []


def test_a_level_that_was_tried_again_is_told_and_the_last_word_is_the_crawls_own() -> None:
    went_on = LastRun(id="r2", depth=0, attempt=2)
    text = shown("succeeded", attempts=[died(0, 1)], last_run=went_on)
    assert "level 0: attempt 1 crashed, tried again: [run] killed" in text
    lost = shown("failed", error="level 0 was tried ...", attempts=[died(0, 1), died(0, 2, "failed")], last_run=went_on)
    assert lost.count("tried again") == 1
    assert "tried again" not in shown("failed", error="[plan] no", attempts=[died(0, 1, "failed")])
