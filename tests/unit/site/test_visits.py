"""Visits from log entries, as tables: which request belongs to which page load, and what gaps follow."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.site.log import Kind, LogEntry
from tests.site.visits import gaps_s, most_at_once, overlapping, visits_of

HOST, OTHER = "127.0.0.2:80", "127.0.0.3:80"
AT = datetime(2025, 1, 1, tzinfo=UTC)


def entry(path: str, begin: float, end: float | None, kind: Kind = "page", host: str = HOST, **more: str) -> LogEntry:
    headers = {"referer": more["referer"]} if "referer" in more else {}
    return LogEntry(
        number=int(begin * 1000),
        host=host,
        host_index=0,
        method="GET",
        path=path,
        kind=kind,
        started_at=AT,
        started_s=begin,
        headers=headers,
        finished_s=end,
        location=more.get("location"),
    )


def paths(entries: list[LogEntry]) -> list[list[str]]:
    return [[one.path for one in visit.requests] for visit in visits_of(entries)]


def test_each_navigation_is_a_visit_and_takes_its_parts_along() -> None:
    entries = [
        entry("/robots.txt", 0, 0.1, "robots"),
        entry("/", 1, 2),
        entry("/a.png", 2, 3, "resource", referer=f"http://{HOST}/"),
        entry("/next", 5, 6),
        entry("/b.png", 6, 8, "resource", referer=f"http://{HOST}/next"),
    ]
    assert paths(entries) == [["/", "/a.png"], ["/next", "/b.png"]]
    assert gaps_s(visits_of(entries), HOST) == (2.0,)
    assert gaps_s(visits_of(entries), OTHER) == ()


@pytest.mark.parametrize(
    ("second", "visits"),
    [
        (entry("/to", 2, 3), 1),  # where the redirect pointed
        (entry("/elsewhere", 2, 3), 2),
        (
            entry("/elsewhere", 2, 3, referer=f"http://{HOST}/from"),
            1,
        ),  # a client-side redirect says where it comes from
        (entry("/to", 2, 3, host=OTHER), 2),
    ],
)
def test_redirects_continue_a_visit_and_new_navigations_do_not(second: LogEntry, visits: int) -> None:
    first = replace(entry("/from", 1, 2), location="/to")
    assert len(visits_of([first, second])) == visits


@pytest.mark.parametrize(("pause_s", "visits"), [(0.01, 1), (1.0, 2)])
def test_redirect_loop_is_one_visit_and_another_try_is_another(pause_s: float, visits: int) -> None:
    rounds = [replace(entry("/loop", begin, begin + 0.1), location="/loop") for begin in (1, 1.11, 1.21 + pause_s)]
    assert len(visits_of(rounds)) == visits


def test_two_page_loads_at_once_on_one_host_overlap_and_on_two_hosts_do_not() -> None:
    at_once = [
        entry("/a", 1, 2),
        entry("/b", 3, 4),
        entry("/a.png", 3.5, 5, "resource", referer=f"http://{HOST}/a"),
    ]
    ((earlier, later),) = overlapping(visits_of(at_once))
    assert (earlier.path, later.path) == ("/a", "/b")
    assert gaps_s(visits_of(at_once), HOST) == (-2.0,)
    apart = [at_once[0], replace(at_once[1], host=OTHER), at_once[2]]
    assert overlapping(visits_of(apart)) == ()


def test_visit_that_never_ended_overlaps_the_next() -> None:
    assert len(overlapping(visits_of([entry("/a", 1, None), entry("/b", 9, 10)]))) == 1


def test_part_that_another_hosts_page_asked_for_belongs_to_no_visit_here() -> None:
    entries = [entry("/", 1, 2), entry("/a.png", 3, 4, "resource", referer=f"http://{OTHER}/")]
    assert paths(entries) == [["/"]]


@pytest.mark.parametrize(
    ("spans", "most"),
    [
        ([], 0),
        ([(0, 1)], 1),
        ([(0, 1), (1, 2)], 1),
        ([(0, 2), (1, 3), (1.5, 1.6)], 3),
        ([(0, float("inf")), (5, 6)], 2),
    ],
)
def test_most_at_once_counts_shared_moments(spans: list[tuple[float, float]], most: int) -> None:
    assert most_at_once(spans) == most
