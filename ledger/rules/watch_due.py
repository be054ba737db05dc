"""When a page is due next, and why: what is learnt of it, within the bounds that people set.

The rate of changes and the price of a visit are `comity.watch.rules`; what stands here is how the ledger's facts become
theirs, and the times that have nothing to do with changes.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.watch import Outcome, WatchSettings
from comity.watch.rules.change_rate import ChangeRate, first_guess, learn
from comity.watch.rules.next_visit import next_visit, span
from comity.watch.rules.revisit import Bounds as DayBounds
from comity.watch.rules.revisit import Price, Watched, worth

LOOK_AGAIN = timedelta(minutes=10)
"""After the first content: what differs by then, and then only, is a clock or a counter and no news."""
AFTER_SKIP = timedelta(days=1)
JITTER = 0.1
"""Pages that were visited in one hour, after an outage perhaps, do not stay together for ever."""
MOST_DOUBLINGS = 20
WELL = ("first", "changed", "unchanged", "not-modified")
"""Outcomes after which a page's own interval says when it is due."""
LOST_REST = timedelta(minutes=1)
LONGEST_LOST_REST = timedelta(hours=6)
DAY = timedelta(days=1)

WEEKLY = 1 / 7
"""Changes a day of a page of which nothing is known."""


@dataclass(frozen=True)
class Prices:
    """What all pages together say: the price of a visit, and what to expect of a page of which nothing is known."""

    price: Price
    population: ChangeRate


USUAL = Prices(Price(worth(WEEKLY) / WEEKLY), first_guess(WEEKLY))
"""Before any price was fitted: a page that changes once a week is visited once a day."""


@dataclass(frozen=True)
class Bounds:
    """The shortest and the longest time between two visits."""

    least: timedelta
    most: timedelta


@dataclass(frozen=True)
class DueFacts:
    """A visit that was just reported. `failures` are those in a row, this one counted, which failed by `problem`.
    `rate` is what was learnt up to now. `last_success_at` is the visit before. `lists` hold the page. `spread` is a
    random number below 1."""

    now: datetime
    settings: WatchSettings
    bounds: Bounds
    outcome: Outcome
    failures: int
    rate: tuple[float, ...] | None
    last_success_at: datetime | None
    lists: int
    retry_after_ms: int | None
    spread: float
    prices: Prices = USUAL
    problem: str | None = None


@dataclass(frozen=True)
class Due:
    """When, a sentence that says why, and what was learnt. `rate_a_day`: changes a day, where that is known."""

    at: datetime
    because: str
    rate: tuple[float, ...] | None = None
    rate_a_day: float | None = None


def bounds_of(settings: WatchSettings, deployment: Bounds) -> Bounds:
    """The page's own bounds, the deployment's where it has none; a fixed interval is both."""
    if settings.fixed_interval_ms is not None:
        fixed = timedelta(milliseconds=settings.fixed_interval_ms)
        return Bounds(fixed, fixed)
    least = deployment.least if settings.min_interval_ms is None else timedelta(milliseconds=settings.min_interval_ms)
    most = deployment.most if settings.max_interval_ms is None else timedelta(milliseconds=settings.max_interval_ms)
    return Bounds(min(least, most), max(least, most))


def watched(settings: WatchSettings, deployment: Bounds, rate: ChangeRate, lists: int) -> Watched:
    """The page as the rules of revisits see it."""
    bounds = bounds_of(settings, deployment)
    return Watched(rate, max(1.0, float(lists)), DayBounds(bounds.least / DAY, bounds.most / DAY))


def next_due(facts: DueFacts) -> Due:
    """The next time of a page whose visit is over."""
    bounds = bounds_of(facts.settings, facts.bounds)
    if facts.outcome == "skipped":
        return Due(facts.now + max(AFTER_SKIP, bounds.least), "the site does not want it visited now", facts.rate)
    rate = facts.prices.population if facts.rate is None else ChangeRate(facts.rate[0], facts.rate[1])
    if facts.outcome in ("unchanged", "not-modified", "changed") and facts.last_success_at is not None:
        elapsed_days = max(timedelta(0), facts.now - facts.last_success_at) / DAY
        rate = learn(rate, facts.prices.population, elapsed_days=elapsed_days, changed=facts.outcome == "changed")
    kept = (rate.shape, rate.exposure_days)
    if facts.outcome == "first":
        again = min(LOOK_AGAIN, bounds.most)
        return Due(facts.now + again, "a second look tells what changes by itself", kept)
    page = watched(facts.settings, facts.bounds, rate, facts.lists)
    rests_until = None if not facts.retry_after_ms else facts.now + timedelta(milliseconds=facts.retry_after_ms)
    found = next_visit(
        page,
        facts.prices.price,
        now=facts.now,
        failures=facts.failures,
        problem=facts.problem,
        rests_until=rests_until,
    )
    at = found.due_at if found.due_at == rests_until else _jittered(facts, bounds, found.due_at)
    return Due(at, found.because, kept, rate.per_day)


def due_within(
    due_at: datetime, bounds: Bounds, *, last_outcome: str | None, last_visit_at: datetime | None, now: datetime
) -> datetime:
    """When a page is due whose bounds were changed: sooner where its longest interval is over by then, never later.

    What was set longer holds from the next visit on. A page that was not well waits as its site or its back-off says.
    """
    if last_visit_at is None or last_outcome not in WELL:
        return due_at
    return min(due_at, max(now, last_visit_at + bounds.most))


def because_of_bounds(bounds: Bounds) -> str:
    """Completes "next visit in 3 h because" where `due_within` has brought the page forward."""
    if bounds.least == bounds.most:
        return f"it is set to be visited every {span(bounds.most / DAY)}"
    return f"its longest interval was set to {span(bounds.most / DAY)}"


def after_loss(due_at: datetime, lost: int, *, ended_at: datetime) -> datetime:
    """When a page is due whose claim ended without a word, for the `lost`-th time in a row.

    The first time nothing changes: a worker died. A page that takes its worker along each time must not do so for ever.
    """
    if lost <= 1:
        return due_at
    rest = min(LOST_REST * float(2 ** min(lost - 2, MOST_DOUBLINGS)), LONGEST_LOST_REST)
    return max(due_at, ended_at + rest)


def _jittered(facts: DueFacts, bounds: Bounds, due_at: datetime) -> datetime:
    """A little sooner or later; never beyond the bounds, so that a fixed interval stays what it is."""
    wait = due_at - facts.now
    jittered = wait * (1 - JITTER / 2 + JITTER * facts.spread)
    return facts.now + min(max(jittered, bounds.least), max(bounds.most, wait))
