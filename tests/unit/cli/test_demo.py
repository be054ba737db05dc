"""The demonstration's verdict: what counts as impolite, and what as not shown."""

from dataclasses import replace
from datetime import UTC, datetime

from comity.cli.summary import summarize
from comity.contract.extraction import ExtractionProgress
from comity.contract.ledger import PageView
from tests.site.demo import Verdict, judge, shortfalls
from tests.site.log import LogEntry
from tests.unit.cli.facts import crawl, page

HOST = "127.0.0.2:8000"
FORBIDDEN = f"http://{HOST}/back-room"
BEGAN_AT = datetime(2030, 1, 31, tzinfo=UTC)


def request(path: str, began_s: float, ended_s: float, number: int = 0) -> LogEntry:
    return LogEntry(
        number=number,
        host=HOST,
        host_index=0,
        method="GET",
        path=path,
        kind="page",
        started_at=BEGAN_AT,
        started_s=began_s,
        finished_at=BEGAN_AT,
        finished_s=ended_s,
        status=200,
    )


def verdict(*log: LogEntry) -> Verdict:
    return judge([replace(entry, number=number) for number, entry in enumerate(log)], {HOST: 1.0}, FORBIDDEN)


def test_a_gap_as_promised_is_polite_and_a_shorter_one_not() -> None:
    assert verdict(request("/", 0, 1), request("/2", 2, 3)).polite
    assert not verdict(request("/", 0, 1), request("/2", 1.9, 3)).polite


def test_two_visits_at_once_are_impolite() -> None:
    assert verdict(request("/", 0, 5), request("/2", 1, 2)).hosts[0].at_once == 1


def test_the_forbidden_page_is_impolite() -> None:
    found = verdict(request("/back-room", 0, 1))
    assert found.forbidden_visits == 1
    assert not found.polite


def test_a_crawl_that_shows_everything_has_no_shortfall() -> None:
    pages = [
        page(f"/{number}", host=f"h{number % 4}.test", depth=number % 3, artifacts={"wacz": f"file:///{number}.wacz"})
        for number in range(20)
    ]
    polite = verdict(request("/", 0, 1))

    def missing(shown: list[PageView], state: str = "succeeded", extracted: int | None = None) -> list[str]:
        progress = ExtractionProgress(
            state="idle", pending=0, extracted=len(shown) if extracted is None else extracted, failed=0, partial=0
        )
        return shortfalls(summarize(crawl(shown, state, extraction=progress), shown), polite)

    assert missing(pages) == []
    assert missing(pages[:19]) == ["19 pages captured, 20 wanted"]
    assert len(missing(pages, "failed")) == 1
    assert missing(pages, extracted=19) == ["facts were to be extracted from 20 pages: 19 extracted, 0 failed"]
