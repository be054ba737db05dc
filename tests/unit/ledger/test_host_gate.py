"""The host gate's rule as tables: host and question in, grant or refusal out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger.rules.host_gate import (
    ASK_AGAIN_MS,
    LEASE_MS,
    LONGEST_ASK_AGAIN_MS,
    PATIENCE,
    Ask,
    Grant,
    Holder,
    HostFacts,
    Lease,
    Refusal,
    Waiter,
    judge,
    queue,
    renewed_until,
    rest_until,
)

NOW = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)
US = Holder("crawl", "c1:0", 1)
OTHERS = Holder("crawl", "c2:0", 1)
THIRD = Holder("crawl", "c3:1", 2)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def lease(holder: Holder, *, granted_s: float = 1, wait_ms: int = 0, left_s: float = 200) -> Lease:
    return Lease(holder, ago(granted_s), wait_ms, ago(-left_s))


def waiter(holder: Holder, since_s: float, asked_s: float = 0.5) -> Waiter:
    return Waiter(holder.kind, holder.key, ago(since_s), ago(asked_s))


def granted(facts: HostFacts, delay_ms: int = 2000, holder: Holder = US, **ask: Any) -> Grant:
    verdict = judge(facts, Ask(holder, delay_ms, **ask), now=NOW)
    assert isinstance(verdict, Grant), verdict
    return verdict


def refused(facts: HostFacts, holder: Holder = US) -> Refusal:
    verdict = judge(facts, Ask(holder, 2000), now=NOW)
    assert isinstance(verdict, Refusal), verdict
    return verdict


@pytest.mark.parametrize(
    ("facts", "delay_ms", "gap_ms", "wait_ms"),
    [
        (HostFacts(), 2000, 2000, 0),  # never touched: nothing to wait for
        (HostFacts(touched_at=ago(0)), 2000, 2000, 2000),
        (HostFacts(touched_at=ago(0)), 0, 0, 0),
        (HostFacts(touched_at=ago(0.5)), 2000, 2000, 1500),
        (HostFacts(touched_at=NOW - timedelta(microseconds=1)), 2000, 2000, 2000),  # rounded up, never down
        (HostFacts(touched_at=ago(2)), 2000, 2000, 0),
        (HostFacts(touched_at=ago(3600)), 2000, 2000, 0),
        (HostFacts(touched_at=ago(-3600)), 2000, 2000, 2000),  # the clock was set back: a whole gap from now
        # The crawl-delay that anyone heard counts for all, for a day.
        (HostFacts(touched_at=ago(1), crawl_delay_ms=5000, crawl_delay_heard_at=ago(60)), 2000, 5000, 4000),
        (HostFacts(touched_at=ago(1), crawl_delay_ms=500, crawl_delay_heard_at=ago(60)), 2000, 2000, 1000),
        (HostFacts(touched_at=ago(1), crawl_delay_ms=5000, crawl_delay_heard_at=ago(86_399)), 2000, 5000, 4000),
        (HostFacts(touched_at=ago(1), crawl_delay_ms=5000, crawl_delay_heard_at=ago(86_400)), 2000, 2000, 1000),
        # A rest that the host asked for counts for all until it is over.
        (HostFacts(touched_at=ago(10), rests_until=ago(-50)), 2000, 60_000, 50_000),
        (HostFacts(touched_at=ago(0), rests_until=ago(-1)), 2000, 2000, 2000),
        (HostFacts(touched_at=ago(60), rests_until=ago(0)), 2000, 2000, 0),
    ],
)
def test_wait_is_what_remains_of_the_longest_gap(facts: HostFacts, delay_ms: int, gap_ms: int, wait_ms: int) -> None:
    grant = granted(facts, delay_ms)
    assert (grant.gap_ms, grant.wait_ms) == (gap_ms, wait_ms)
    assert grant.expires_in_ms == wait_ms + LEASE_MS
    assert grant.ended is None


def test_what_robots_txt_says_now_holds_from_now_on() -> None:
    before = HostFacts(touched_at=ago(0), crawl_delay_ms=5000, crawl_delay_heard_at=ago(60))
    longer = granted(before, crawl_delay_ms=9000)
    assert (longer.wait_ms, longer.facts.crawl_delay_ms, longer.facts.crawl_delay_heard_at) == (9000, 9000, NOW)
    none = granted(before, crawl_delay_ms=0)
    assert (none.wait_ms, none.facts.crawl_delay_ms) == (2000, 0)
    not_asked = granted(before)
    assert (not_asked.wait_ms, not_asked.facts.crawl_delay_ms) == (5000, 5000)
    assert not_asked.facts.crawl_delay_heard_at == ago(60)


@pytest.mark.parametrize(
    ("granted_s", "wait_ms", "again_ms"),
    [
        (10, 0, ASK_AGAIN_MS),
        (1, 5000, 4000),
        (1, 1500, ASK_AGAIN_MS),
        (1, 600_000, LONGEST_ASK_AGAIN_MS),
    ],
)
def test_host_that_others_have_is_refused_until_it_may_be_free(granted_s: float, wait_ms: int, again_ms: int) -> None:
    refusal = refused(HostFacts(lease=lease(OTHERS, granted_s=granted_s, wait_ms=wait_ms)))
    assert (refusal.retry_after_ms, refusal.stop) == (again_ms, False)
    assert refusal.waiting == (Waiter("crawl", "c1:0", NOW, NOW),)


def test_lease_that_ran_out_touched_the_host_when_it_did() -> None:
    facts = HostFacts(touched_at=ago(400), lease=lease(OTHERS, granted_s=300, left_s=-0.5))
    grant = granted(facts)
    assert grant.ended is not None
    assert (grant.ended.how, grant.ended.at) == ("expired", ago(0.5))
    assert (grant.facts.touched_at, grant.wait_ms) == (ago(0.5), 1500)


@pytest.mark.parametrize("attempt", [1, 2])
def test_same_level_takes_its_lease_over_and_that_is_a_touch(attempt: int) -> None:
    facts = HostFacts(touched_at=ago(400), lease=lease(US), waiting=(waiter(OTHERS, 50),))
    grant = granted(facts, holder=Holder("crawl", "c1:0", attempt))
    assert grant.ended is not None
    assert (grant.ended.how, grant.ended.at, grant.wait_ms) == ("taken-over", NOW, 2000)
    assert grant.facts.waiting == facts.waiting  # others keep their turn


def test_attempt_that_was_replaced_is_told_to_stop() -> None:
    refusal = refused(HostFacts(lease=lease(Holder("crawl", "c1:0", 2))), US)
    assert refusal.stop is True
    assert refusal.waiting == ()


@pytest.mark.parametrize("other", [Holder("crawl", "c1:1", 1), Holder("watch", "c1:0", 1), OTHERS])
def test_other_work_takes_nothing_over(other: Holder) -> None:
    assert refused(HostFacts(lease=lease(other))).stop is False


def test_turns_go_in_the_order_of_asking() -> None:
    free = HostFacts(waiting=(waiter(OTHERS, 9), waiter(THIRD, 5)))
    late = refused(free)
    assert [one.key for one in late.waiting] == ["c2:0", "c3:1", "c1:0"]
    assert late.retry_after_ms == ASK_AGAIN_MS
    assert refused(free, THIRD).waiting[1].since == ago(5)  # asking again keeps the place
    grant = granted(free, holder=OTHERS)
    assert [one.key for one in grant.facts.waiting] == ["c3:1"]


def test_who_does_not_ask_again_loses_the_turn() -> None:
    gone = PATIENCE.total_seconds()
    assert granted(HostFacts(waiting=(waiter(OTHERS, 60, gone),))).facts.waiting == ()
    assert refused(HostFacts(waiting=(waiter(OTHERS, 60, gone - 0.1),))).stop is False
    [again] = queue((waiter(US, 60, gone),), US, NOW)
    assert again.since == NOW


@pytest.mark.parametrize(("granted_s", "wait_ms", "lasts_s"), [(10, 0, 300), (10, 40_000, 330), (50, 40_000, 300)])
def test_renewed_lease_lasts_for_a_whole_use(granted_s: float, wait_ms: int, lasts_s: float) -> None:
    renewed = renewed_until(lease(US, granted_s=granted_s, wait_ms=wait_ms, left_s=1), now=NOW)
    assert renewed == ago(-lasts_s)


@pytest.mark.parametrize(
    ("before_s", "retry_after_ms", "after_s"),
    [(None, None, None), (None, 5000, 5), (9, 5000, 9), (3, 5000, 5), (9, None, 9), (None, 0, 0)],
)
def test_rest_is_never_shortened(before_s: float | None, retry_after_ms: int | None, after_s: float | None) -> None:
    facts = HostFacts(rests_until=None if before_s is None else ago(-before_s))
    expected = None if after_s is None else ago(-after_s)
    assert rest_until(facts, retry_after_ms, now=NOW) == expected
