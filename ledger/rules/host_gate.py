"""Who may visit a host, and after which wait: the host gate's decisions. All times are the ledger's own.

A host has at most one lease. A lease that ends by its time, or because the next attempt at the same work takes it
over, may have been used until that very moment, so that moment counts as a touch. Hosts that several want go from one
to the next in the order of asking: whoever is refused keeps a place for as long as it goes on asking.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

LEASE_MS = 300_000
"""A capture with its writes takes 145 s at most; twice that, so that a renewal or two may get lost."""
CRAWL_DELAY_KEPT = timedelta(hours=24)
"""RFC 9309, 2.4: a robots.txt should not be used for longer than this."""
ASK_AGAIN_MS = 1_000
LONGEST_ASK_AGAIN_MS = 10_000
PATIENCE = timedelta(milliseconds=LONGEST_ASK_AGAIN_MS + 5_000)
"""Who was told to ask again and does not within this has lost its place."""
WIND_DOWN = timedelta(seconds=30)
"""A crawl that was cancelled has captures in flight: its run hears of it within 10 s and ends them within 5 s more."""

LeaseEnd = Literal["released", "unused", "expired", "taken-over", "work-ended"]


@dataclass(frozen=True)
class Holder:
    """Some work at its `attempt`. `kind` and `key` name the work: a level of a crawl, for example."""

    kind: str
    key: str
    attempt: int

    def same_work(self, other: "Holder | Waiter") -> bool:
        return (self.kind, self.key) == (other.kind, other.key)


@dataclass(frozen=True)
class Waiter:
    """Work that was refused at `since` and has asked until `asked_at`."""

    kind: str
    key: str
    since: datetime
    asked_at: datetime


@dataclass(frozen=True)
class Lease:
    """The host's lease. It may be used from `granted_at` + `wait_ms` on."""

    holder: Holder
    granted_at: datetime
    wait_ms: int
    expires_at: datetime


@dataclass(frozen=True)
class HostFacts:
    """One host. `rests_until` is the end of a rest that it asked for; `waiting` in the order of their turns."""

    touched_at: datetime | None = None
    crawl_delay_ms: int | None = None
    crawl_delay_heard_at: datetime | None = None
    rests_until: datetime | None = None
    lease: Lease | None = None
    waiting: tuple[Waiter, ...] = ()


@dataclass(frozen=True)
class Ask:
    """What a holder wants. `crawl_delay_ms` is None where it did not ask the host's robots.txt.

    `lease_ms`: how long the lease lasts once the host may be visited.
    """

    holder: Holder
    delay_ms: int
    crawl_delay_ms: int | None = None
    lease_ms: int = LEASE_MS


@dataclass(frozen=True)
class Ended:
    """The lease before ended at `at`, which counts as a touch."""

    how: LeaseEnd
    at: datetime


@dataclass(frozen=True)
class Grant:
    """The host may be visited `wait_ms` from now; `gap_ms` is the gap that this keeps."""

    wait_ms: int
    gap_ms: int
    expires_in_ms: int
    ended: Ended | None
    facts: HostFacts
    """The host as it is now, but for the new lease."""


@dataclass(frozen=True)
class Refusal:
    """Not now, or, with `stop`, never again."""

    reason: str
    retry_after_ms: int
    stop: bool
    waiting: tuple[Waiter, ...]


def judge(facts: HostFacts, ask: Ask, *, now: datetime) -> Grant | Refusal:
    """Who asks gets the host, or is told when to ask again."""
    heard = _hear(facts, ask, now)
    lease = heard.lease
    if lease is not None and now < lease.expires_at:
        if not ask.holder.same_work(lease.holder):
            ready_ms = _ms(lease.granted_at + timedelta(milliseconds=lease.wait_ms) - now)
            again_ms = min(max(ready_ms, ASK_AGAIN_MS), LONGEST_ASK_AGAIN_MS)
            return Refusal("the host is visited by others", again_ms, False, queue(heard.waiting, ask.holder, now))
        if ask.holder.attempt < lease.holder.attempt:
            return Refusal(f"attempt {lease.holder.attempt} holds the host", 0, True, heard.waiting)
        return _grant(heard, ask, Ended("taken-over", now), now)
    line = queue(heard.waiting, ask.holder, now)
    if not ask.holder.same_work(line[0]):
        return Refusal("it is the turn of others who asked before", ASK_AGAIN_MS, False, line)
    ended = None if lease is None else Ended("expired", lease.expires_at)
    return _grant(heard, ask, ended, now)


def queue(waiting: tuple[Waiter, ...], holder: Holder, now: datetime) -> tuple[Waiter, ...]:
    """Those who still wait, in the order of their turns, with `holder` at its place or at the end."""
    alive = [one for one in waiting if now - one.asked_at < PATIENCE]
    if any(holder.same_work(one) for one in alive):
        return tuple(replace(one, asked_at=now) if holder.same_work(one) else one for one in alive)
    return (*alive, Waiter(holder.kind, holder.key, now, now))


def renewed_until(lease: Lease, *, now: datetime, lease_ms: int = LEASE_MS) -> datetime:
    """When a renewed lease ends: never sooner than its use may begin and take."""
    usable_at = lease.granted_at + timedelta(milliseconds=lease.wait_ms)
    return max(now, usable_at) + timedelta(milliseconds=lease_ms)


def rest_until(facts: HostFacts, retry_after_ms: int | None, *, now: datetime) -> datetime | None:
    """The end of the rest that the host asked for. A rest is never shortened by a later, shorter one."""
    asked = None if retry_after_ms is None else now + timedelta(milliseconds=retry_after_ms)
    return _later(facts.rests_until, asked)


def _hear(facts: HostFacts, ask: Ask, now: datetime) -> HostFacts:
    """What robots.txt said last holds: an absence of a crawl-delay too. Old words are forgotten."""
    if ask.crawl_delay_ms is not None:
        return replace(facts, crawl_delay_ms=ask.crawl_delay_ms, crawl_delay_heard_at=now)
    heard_at = facts.crawl_delay_heard_at
    if heard_at is None or now - heard_at >= CRAWL_DELAY_KEPT:
        return replace(facts, crawl_delay_ms=None, crawl_delay_heard_at=None)
    return facts


def _grant(facts: HostFacts, ask: Ask, ended: Ended | None, now: datetime) -> Grant:
    touched_at = _later(facts.touched_at, ended.at if ended else None)
    gap_ms = max(ask.delay_ms, facts.crawl_delay_ms or 0)
    wait_ms = 0
    if touched_at is not None:
        if facts.rests_until is not None and facts.rests_until > now:
            gap_ms = max(gap_ms, _ms(facts.rests_until - touched_at))
            wait_ms = _ms(facts.rests_until - now)
        idle = max(timedelta(0), now - touched_at)  # a clock that was set back makes nobody faster
        wait_ms = max(wait_ms, _ms(timedelta(milliseconds=gap_ms) - idle))
    others = tuple(one for one in facts.waiting if not ask.holder.same_work(one) and now - one.asked_at < PATIENCE)
    after = replace(facts, touched_at=touched_at, lease=None, waiting=others)
    return Grant(wait_ms, gap_ms, wait_ms + ask.lease_ms, ended, after)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _ms(span: timedelta) -> int:
    """Whole milliseconds, rounded up, never negative: a wait is never cut short by its rounding."""
    return max(0, -(-span // timedelta(milliseconds=1)))
