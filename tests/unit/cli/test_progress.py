from collections.abc import Sequence

import pytest
from rich.console import Console

from comity.cli.progress import Progress, progress_line, progress_of, render_progress
from comity.contract.ledger import PageView
from tests.unit.cli.facts import at, crawl, died, page, visit

LEVEL_ONE: Sequence[PageView] = [
    page("/", settled_at=at(1), visits=[visit(0, 1)]),
    page("/1", depth=1, settled_at=at(30), visits=[visit(29, 30)]),
    page("/2", "pending", depth=1),
    page("/", "pending", host="b.test", depth=1),
    page("/", "skipped", host="c.test", depth=1, reason="robots-disallowed"),
]


def picture(lanes: frozenset[str] | None, after_s: float) -> Progress:
    return progress_of(crawl(LEVEL_ONE), LEVEL_ONE, lanes, at(after_s))


def test_level_is_the_lowest_with_pending_pages() -> None:
    seen = picture(None, 31)
    assert (seen.depth, seen.level_settled, seen.level_total) == (1, 2, 4)
    assert (seen.settled, seen.total, seen.captured) == (3, 5, 2)


@pytest.mark.parametrize(
    ("lanes", "after_s", "notes"),
    [
        (frozenset({"a.test"}), 30.4, ("resting 1 s", "waits for a free browser", "skipped: 1 robots-disallowed")),
        (frozenset({"a.test"}), 32, ("capturing", "waits for a free browser", "skipped: 1 robots-disallowed")),
        (None, 32, ("to be visited", "to be visited", "skipped: 1 robots-disallowed")),
    ],
)
def test_each_host_says_what_it_does(lanes: frozenset[str] | None, after_s: float, notes: tuple[str, ...]) -> None:
    assert tuple(host.note for host in picture(lanes, after_s).hosts) == notes


@pytest.mark.parametrize(
    ("after_s", "status", "note"),
    [
        (4.5, 200, "resting 1 s"),
        (2.5, 200, "resting 3 s"),
        (5.5, 200, "capturing"),
        (5.5, 429, "resting or capturing: it answered 429"),
        (4.5, 503, "resting 1 s"),
    ],
)
def test_a_host_rests_as_long_as_it_was_promised(after_s: float, status: int, note: str) -> None:
    pages = [
        page("/", visits=[visit(0, 1, promised_ms=4000)], http_status=status),
        page("/1", "pending"),
    ]
    [host] = progress_of(crawl(pages), pages, frozenset({"a.test"}), at(after_s)).hosts
    assert host.note == note


def test_a_rest_that_was_asked_for_once_is_over_after_it() -> None:
    pages = [
        page("/", visits=[visit(0, 1, promised_ms=1000)]),
        page("/1", visits=[visit(11, 12, promised_ms=10_000)]),
        page("/2", "pending"),
    ]
    [host] = progress_of(crawl(pages), pages, frozenset({"a.test"}), at(14)).hosts
    assert host.note == "capturing"


@pytest.mark.parametrize(
    ("lanes", "waits"),
    [
        (frozenset({"a.test"}), "1 hosts wait for a free browser"),
        (frozenset({"a.test", "b.test"}), ""),
        (frozenset(), "the level's run starts: robots.txt is read and the scripts are compiled"),
        (None, ""),
    ],
)
def test_what_waits_is_said(lanes: frozenset[str] | None, waits: str) -> None:
    assert picture(lanes, 32).waits == waits


def test_between_levels_the_closing_is_what_waits() -> None:
    pages = [page("/")]
    assert "being closed" in progress_of(crawl(pages), pages, None, at(5)).waits
    assert progress_of(crawl(pages, "succeeded"), pages, None, at(5)).waits == ""


@pytest.mark.parametrize(("after_s", "per_minute"), [(30, 4.0), (60, 2.0), (61.5, 1.0), (200, 0.0)])
def test_rate_counts_the_last_minute(after_s: float, per_minute: float) -> None:
    assert picture(None, after_s).captures_per_minute == per_minute


def test_terminal_shows_unfinished_hosts_first_and_says_how_many_more() -> None:
    text = render_text(picture(frozenset({"a.test"}), 32), 2)
    assert "level 1/2  pages 3/5  captured 2" in text
    assert "and 1 more hosts" in text
    assert "c.test" not in text


def render_text(seen: Progress, most_hosts: int) -> str:
    console = Console(width=100)
    with console.capture() as shown:
        console.print(render_progress(seen, most_hosts=most_hosts))
    return shown.get()


def test_log_line_is_one_line() -> None:
    line = progress_line(picture(frozenset({"a.test"}), 32))
    assert line.startswith("level 1 of 2: 2/4 pages done; in all 3/5, 2 captured")
    assert line.endswith("; 1 hosts wait for a free browser")


@pytest.mark.parametrize(
    ("attempts", "state", "said"),
    [
        ([], "running", ""),
        ([(0, 1)], "running", ""),
        ([(1, 1)], "running", "level 1: attempt 2 after: [run] killed (crashed)"),
        ([(0, 1), (1, 1), (1, 2)], "running", "level 1: attempt 3 after: [run] killed (crashed)"),
        ([(1, 1)], "succeeded", ""),
    ],
)
def test_a_level_that_is_tried_again_says_after_what(
    attempts: Sequence[tuple[int, int]], state: str, said: str
) -> None:
    view = crawl(LEVEL_ONE, state, attempts=[died(depth, attempt) for depth, attempt in attempts])
    seen = progress_of(view, LEVEL_ONE, None, at(31))
    assert seen.resumed == said
    console = Console(width=160)
    with console.capture() as capture:
        console.print(render_progress(seen))
    for text in (progress_line(seen), capture.get()):
        assert ("attempt" in text) == bool(said)
        assert said in text
