"""What a level visits: grouping, robots.txt, the longer delay, what remains of it, how many at once."""

import pickle

import pytest

from comity.contract.ledger import FrontierPage
from comity.polite.rules.robots import RobotsRuling, RobotsVerdict
from flows.rules.plan import LevelPlan, longer_delay_ms, parallelism, plan_level, plan_rows, remaining_ms, too_long


def page(number: int, url: str, idle_ms: int | None = None) -> FrontierPage:
    """A page of the frontier."""
    return FrontierPage(page_id=f"p{number}", url=url, host=url.split("/")[2], host_idle_ms=idle_ms)


def ruling(origin: str, urls: dict[str, bool], delay_ms: int | None = None) -> RobotsRuling:
    """A robots.txt that allows and forbids these URLs."""
    verdicts = tuple(
        RobotsVerdict(url, allowed, None if allowed else "robots-disallowed", "" if allowed else "forbidden by it")
        for url, allowed in urls.items()
    )
    return RobotsRuling(origin, verdicts, delay_ms)


def plan(
    frontier: list[FrontierPage],
    rulings: tuple[RobotsRuling, ...] = (),
    *,
    delay_ms: int = 1000,
    limit_ms: int = 600_000,
    wanted: int = 4,
    slots: int = 2,
) -> LevelPlan:
    """The plan under these terms."""
    return plan_level(
        frontier,
        rulings,
        per_host_delay_ms=delay_ms,
        max_host_delay_ms=limit_ms,
        host_parallelism=wanted,
        slots=slots,
    )


@pytest.mark.parametrize(
    ("wanted", "slots", "expected"), [(4, 2, 2), (2, 4, 2), (3, 3, 3), (1, 8, 1), (4, 0, 1), (0, 4, 1)]
)
def test_parallelism_is_the_smaller_but_never_none(wanted: int, slots: int, expected: int) -> None:
    assert parallelism(wanted, slots=slots) == expected


@pytest.mark.parametrize(
    ("ours_ms", "theirs_ms", "expected"),
    [(2000, None, 2000), (2000, 500, 2000), (2000, 3000, 3000), (0, None, 0), (0, 0, 0), (0, 1, 1), (2000, 2000, 2000)],
)
def test_longer_delay_wins_on_both_sides(ours_ms: int, theirs_ms: int | None, expected: int) -> None:
    assert longer_delay_ms(ours_ms, theirs_ms) == expected


@pytest.mark.parametrize(
    ("delay_ms", "idle_ms", "expected"),
    [
        (3000, None, 0),
        (3000, 0, 3000),
        (3000, 2479, 521),
        (3000, 3000, 0),
        (3000, 9000, 0),
        (3000, -5, 3000),
        (0, 0, 0),
    ],
)
def test_remaining_delay_is_what_the_idle_time_leaves(delay_ms: int, idle_ms: int | None, expected: int) -> None:
    assert remaining_ms(delay_ms, idle_ms) == expected


def test_delay_at_the_limit_is_kept_and_over_it_refused() -> None:
    assert too_long(600_000, 600_000, "robots.txt") is None
    assert too_long(600_001, 600_000, "robots.txt") == (
        "host-delay-too-long: robots.txt asks for 600001 ms, over the limit of 600000 ms"
    )


def test_pages_are_grouped_by_authority_in_the_order_of_the_frontier() -> None:
    made = plan(
        [
            page(1, "http://b.test/1"),
            page(2, "http://a.test/1"),
            page(3, "http://b.test/2"),
            page(4, "http://b.test:81/"),
        ]
    )
    assert [(host.host, [one.page_id for one in host.pages]) for host in made.hosts] == [
        ("b.test", ["p1", "p3"]),
        ("a.test", ["p2"]),
        ("b.test:81", ["p4"]),
    ]
    assert [host.place for host in made.hosts] == [0, 1, 2]


def test_robots_delay_longer_than_ours_is_the_hosts_delay() -> None:
    url = "http://a.test/1"
    [host] = plan([page(1, url, idle_ms=1000)], (ruling("http://a.test", {url: True}, 3000),)).hosts
    assert (host.delay_ms, host.initial_wait_ms, host.crawl_delay_ms) == (3000, 2000, 3000)


def test_our_delay_longer_than_robots_stays_ours() -> None:
    url = "http://a.test/1"
    [host] = plan([page(1, url, idle_ms=400)], (ruling("http://a.test", {url: True}, 500),)).hosts
    assert (host.delay_ms, host.initial_wait_ms) == (1000, 600)


def test_longest_delay_of_a_hosts_two_robots_counts() -> None:
    urls = ["http://a.test/1", "https://a.test/1"]
    rulings = (ruling("http://a.test", {urls[0]: True}, 2000), ruling("https://a.test", {urls[1]: True}, 5000))
    [host] = plan([page(1, urls[0]), page(2, urls[1])], rulings).hosts
    assert host.delay_ms == 5000


def test_host_never_touched_waits_for_nothing() -> None:
    assert plan([page(1, "http://a.test/1")]).hosts[0].initial_wait_ms == 0


def test_forbidden_page_is_skipped_with_the_reason_and_the_others_stay() -> None:
    allowed, forbidden = "http://a.test/open", "http://a.test/private"
    made = plan([page(1, allowed), page(2, forbidden)], (ruling("http://a.test", {allowed: True, forbidden: False}),))
    assert [one.url for one in made.hosts[0].pages] == [allowed]
    [skipped] = made.skipped
    assert (skipped.page.page_id, skipped.reason) == ("p2", "robots-disallowed: forbidden by it")


def test_host_that_asks_for_more_than_the_limit_is_skipped_whole() -> None:
    urls = ["http://a.test/1", "http://a.test/2"]
    made = plan(
        [page(1, urls[0]), page(2, urls[1]), page(3, "http://b.test/")],
        (ruling("http://a.test", dict.fromkeys(urls, True), 600_001),),
    )
    assert [host.host for host in made.hosts] == ["b.test"]
    assert [one.reason.split(":")[0] for one in made.skipped] == ["host-delay-too-long"] * 2


def test_plan_of_an_empty_frontier_is_empty() -> None:
    made = plan([])
    assert (made.hosts, made.skipped) == ((), ())


def test_plan_travels_to_another_process() -> None:
    made = plan([page(1, "http://a.test/1")])
    assert pickle.loads(pickle.dumps(made)) == made


def test_table_has_a_row_for_each_host_and_for_each_reason() -> None:
    urls = ["http://a.test/1", "http://a.test/2", "http://a.test/3"]
    verdicts = {urls[0]: True, urls[1]: False, urls[2]: False}
    rows = plan_rows(plan([page(n, url) for n, url in enumerate(urls)], (ruling("http://a.test", verdicts),)))
    assert [(row["host"], row["pages"], row["skipped because"]) for row in rows] == [
        ("a.test", 1, ""),
        ("a.test", 2, "robots-disallowed: forbidden by it"),
    ]
    assert rows[0]["robots.txt"] == "forbids 2 of 3"
