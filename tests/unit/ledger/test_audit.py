"""The audit's rule: visits in, gaps and broken promises out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from comity.contract.audit import HostAudit
from ledger.rules.audit import MOST_VIOLATIONS, HostJudge, SeenVisit, reached_the_site

BEGAN = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def visit(began_s: float, ended_s: float, promised_ms: int = 1000, *, run: str = "r1", **more: Any) -> SeenVisit:
    """A visit as its run's clock told it; `off_s` is how wrong that clock is. Leased unless told otherwise."""
    off_s = more.pop("off_s", 0.0)
    leased = {"leased_at": at(began_s - 0.5), "waited_ms": 500, "left_at": at(ended_s)} | more
    facts: dict[str, Any] = {
        "crawl_id": f"c-{run}",
        "page_id": "p",
        "url": "http://a.test/",
        "attempt": 1,
        "number": 1,
        "run_id": run,
        "submitted_at": at(began_s + off_s),
        "finished_at": at(ended_s + off_s),
        "received_at": at(ended_s + 0.1),
        "promised_ms": promised_ms,
    }
    return SeenVisit(**(facts | leased))


NO_LEASE: dict[str, Any] = {"leased_at": None, "left_at": None, "waited_ms": None}


def audit(*visits: SeenVisit) -> HostAudit:
    judge = HostJudge("a.test")
    for one in visits:
        judge.add(one)
    verdict = judge.verdict()
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("visits", "smallest_ms", "kept", "clock"),
    [
        ([visit(0, 2)], None, True, None),
        ([visit(0, 2), visit(3, 4)], 1000, True, "run"),
        ([visit(0, 2), visit(2.999, 4)], 999, False, "run"),
        ([visit(0, 2), visit(3, 4), visit(4.5, 5)], 500, False, "run"),
        ([visit(0, 10), visit(1, 2), visit(12, 13)], -9000, False, "run"),
        ([visit(0, 10), visit(1, 2), visit(3, 4)], -9000, False, "run"),
        # Across runs, by the ledger's clock, whatever the runs' own clocks say.
        ([visit(0, 2), visit(3, 4, run="r2")], 1000, True, "ledger"),
        ([visit(0, 2, off_s=600), visit(3, 4, run="r2", off_s=-600)], 1000, True, "ledger"),
        ([visit(0, 2, off_s=-600), visit(2.5, 4, run="r2", off_s=600)], 500, False, "ledger"),
        ([visit(0, 2), visit(1, 4, run="r2", off_s=600)], -1000, False, "ledger"),
        # The wait after the grant counts; without it the visit may have begun at once.
        ([visit(0, 2), visit(3, 4, run="r2", leased_at=at(2), waited_ms=1000)], 1000, True, "ledger"),
        ([visit(0, 2), visit(3, 4, run="r2", leased_at=at(2), waited_ms=0)], 0, False, "ledger"),
        # The visit of a run lasts until the ledger heard of its end.
        ([visit(0, 2, left_at=at(9)), visit(3, 4, run="r2")], -6000, False, "ledger"),
        # Between runs that go in turns, each visit is compared with the last one of both.
        ([visit(0, 1), visit(2, 3, run="r2"), visit(4, 5), visit(6, 7, run="r2")], 1000, True, "ledger"),
        ([visit(0, 1), visit(2, 3, run="r2"), visit(3.5, 5)], 500, False, "ledger"),
        # Without leases there is only what clocks said.
        ([visit(0, 2, **NO_LEASE), visit(4, 5, run="r2", **NO_LEASE)], 1900, True, "reported"),
        ([visit(0, 2, **NO_LEASE), visit(2.5, 5, run="r2", **NO_LEASE)], 400, False, "reported"),
    ],
)
def test_gap_is_measured_from_the_end_of_one_visit_to_the_next(
    visits: list[SeenVisit], smallest_ms: int | None, kept: bool, clock: str | None
) -> None:
    found = audit(*visits)
    assert (found.smallest_gap_ms, found.kept, found.clock) == (smallest_ms, kept, clock)
    assert found.visits == len(visits)
    assert bool(found.violations) is not kept


@pytest.mark.parametrize(
    ("promises_ms", "kept", "most_ms", "least_ms"),
    [
        ((1000, 2000, 1000), True, 2000, 1000),
        ((9000, 2000, 1000), True, 9000, 1000),  # nobody was there before the first visit
        ((1000, 2001, 1000), False, 2001, 1000),
        ((1000, 2000, 1001), False, 2000, 1000),
        ((0, 0, 0), True, 0, 0),
    ],
)
def test_each_gap_is_judged_by_the_promise_of_the_visit_after_it(
    promises_ms: tuple[int, int, int], kept: bool, most_ms: int, least_ms: int
) -> None:
    times_s = [(0, 1), (3, 4), (5, 6)]  # rests of 2 s, then 1 s
    found = audit(*(visit(*time_s, promise) for time_s, promise in zip(times_s, promises_ms, strict=True)))
    assert (found.kept, found.promised_ms, found.least_promised_ms) == (kept, most_ms, least_ms)
    assert found.smallest_gap_ms == 1000


def test_violation_names_both_visits_and_is_an_overlap_where_they_met() -> None:
    [short] = audit(visit(0, 2), visit(2.5, 3, run="r2")).violations
    assert (short.kind, short.gap_ms, short.promised_ms, short.clock) == ("short-gap", 500, 1000, "ledger")
    assert (short.earlier.crawl_id, short.later.crawl_id) == ("c-r1", "c-r2")
    [met] = audit(visit(0, 2), visit(1, 3)).violations
    assert (met.kind, met.gap_ms) == ("overlap", -1000)


def test_only_so_many_violations_are_told_and_all_are_counted() -> None:
    found = audit(*(visit(second, second + 0.5) for second in range(200)))
    assert (found.broken, len(found.violations)) == (199, MOST_VIOLATIONS)


def test_gaps_that_are_nobodys_own_do_not_count() -> None:
    foreign = [visit(0, 2, own=False), visit(2.1, 3, run="r2", own=False)]
    found = audit(*foreign, visit(4, 5, run="r3"))
    assert (found.visits, found.crawls, found.kept, found.smallest_gap_ms) == (1, 3, True, 1000)
    assert audit(*foreign, visit(3.5, 5, run="r3")).broken == 1
    assert audit(visit(0, 2), visit(2.5, 3, run="r2", own=False)).broken == 1
    judge = HostJudge("a.test")
    judge.add(foreign[0])
    assert judge.verdict() is None


def test_visit_that_may_not_be_seen_counts_and_is_not_named() -> None:
    [broken] = audit(visit(0, 2), visit(2.5, 3, run="r2", own=False, shown=False)).violations
    assert (broken.later.crawl_id, broken.later.page_id, broken.later.url) == ("", "", "")
    assert broken.earlier.url == "http://a.test/"


@pytest.mark.parametrize(
    ("outcome", "task_id", "reached"),
    [
        ("success", "t1", True),
        ("deadline 145000 ms passed", None, True),
        ("connection lost in POST /captures", None, True),
        ("busy", None, False),
        ("unreachable: no connection", None, False),
        ("400 ValidationException: no", None, False),
        ("http_error: 503", "t1", True),
    ],
)
def test_try_counts_as_visit_unless_the_site_saw_nothing(outcome: str, task_id: str | None, reached: bool) -> None:
    assert reached_the_site(outcome, task_id) is reached
