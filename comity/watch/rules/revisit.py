"""When to visit a page again, so that all pages together are as fresh as the visits that we may make allow.

A page that changes at rate r and is visited every I days is fresh for the part (1 - exp(-rI)) / (rI) of the time. At
the best distribution of a budget, one visit more is worth the same on every page: g(rI) = price r / weight, with
g(x) = 1 - (1 + x) exp(-x). Pages that change faster than their weight pays for are left to their longest interval (Cho
and Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28, 2003; Azar et al., "Tractable
near-optimal policies for crawling", PNAS 115, 2018). The one price is fitted daily, to the budget and to the visits
that were really made.

What a person asked for is not paid by the other pages: a fixed interval is outside the budget, and so is what a page's
longest interval asks for beyond its even share. Otherwise one page a minute takes the day's visits of 1,440 others.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comity.watch.rules.change_rate import ChangeRate

PRICE_PRECISION = 1.0005
LOWEST_PRICE, HIGHEST_PRICE = 1e-12, 1e12
ROUNDING = 1e-9
"""Even shares add up to the budget but for the last digits."""
BUCKETS_AN_OCTAVE = 16
"""Pages whose rate for their weight differs by less than 4.4 % share a bucket, so that a million pages cost a fit no
more than a few hundred."""
CORRECTION_STEP = 0.3
"""How much of the difference between planned and made visits a day mends: a week's mean answers slowly."""
LEAST_CORRECTION, MOST_CORRECTION = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Days from visit to visit, at least and at most; equal for a fixed interval."""

    least_days: float
    most_days: float

    def hold(self, days: float) -> float:
        return min(max(days, self.least_days), self.most_days)


@dataclass(frozen=True, slots=True)
class Watched:
    """A page as a fit sees it. `weight`: how many lists hold it, at least 1. A fixed interval has equal `bounds`."""

    rate: ChangeRate
    weight: float
    bounds: Bounds

    @property
    def is_fixed(self) -> bool:
        """Whether no price moves it."""
        return self.bounds.least_days >= self.bounds.most_days


@dataclass(frozen=True, slots=True)
class Price:
    """What a visit costs, in days of freshness of a page of weight 1. `correction` multiplies the planned visits."""

    days: float
    correction: float = 1.0


def worth(x: float) -> float:
    """g(x) = 1 - (1 + x) exp(-x): what one visit more is worth where x changes are expected between visits."""
    return -math.expm1(-x) - x * math.exp(-x)


def changes_between_visits(value: float) -> float:
    """The x of which `worth(x)` is `value`, to about 15 digits; infinite from 1 on: no visit is worth that much."""
    if value <= 0:
        return 0.0
    if value >= 1:
        return math.inf
    x = _close_to(value)
    for _ in range(6):  # Halley's method: the digits that are right triple with each step
        slope = x * math.exp(-x)
        if slope == 0:
            return x
        off = worth(x) - value
        step = 2 * off * slope / (2 * slope * slope - off * (1 - x) * math.exp(-x))
        x = x - step if step < x else x / 2
        if abs(step) <= 1e-14 * x:
            break
    return x


def _close_to(value: float) -> float:
    """The series at 0 of the lower branch of Lambert's W, and its asymptote at 1."""
    if value < 0.5:
        root = math.sqrt(2 * value)
        return root + root * root / 3 + 11 * root**3 / 72
    far = -math.log1p(-value)
    return far + math.log1p(far + math.log1p(far))


def best_interval_days(changes_a_day: float, weight: float, price: Price) -> float:
    """Days to the next visit, before any bounds; infinite where no visit is worth its price."""
    return changes_between_visits(price.days * changes_a_day / weight) / changes_a_day


def interval_days(page: Watched, price: Price) -> float:
    """Days to the next visit; bounds win."""
    return page.bounds.hold(best_interval_days(page.rate.per_day, page.weight, price))


def counted_a_day(visits_a_day: float, bounds: Bounds, share: float) -> float:
    """What a page's visits count against the budget, of which each page's even part is `share`.

    What its longest interval asks for beyond that part is made on top.
    """
    return visits_a_day - demanded_a_day(bounds, share)


def demanded_a_day(bounds: Bounds, share: float) -> float:
    """Visits a day beyond an even `share` that the longest interval asks for."""
    return max(0.0, 1 / bounds.most_days - share)


def fit_price(pages: Iterable[Watched], visits_a_day: float, before: Price, made_a_day: float | None = None) -> Price:
    """The price at which those of `pages` that have no fixed interval are visited `visits_a_day` times in all, as
    `counted_a_day` counts; where there are none it stays as it was.

    `made_a_day`: how many there really were lately, where that is known. Pages learn between fits, and their next visit
    then comes at another time than was planned; the plan makes up for what that gives or takes. Bounds that allow fewer
    visits than there are leave the lowest price.
    """
    correction = before.correction
    if made_a_day is not None and visits_a_day > 0:
        ratio = max(made_a_day / visits_a_day, 0.1)
        correction = min(max(correction * ratio**-CORRECTION_STEP, LEAST_CORRECTION), MOST_CORRECTION)
    groups = _grouped(page for page in pages if not page.is_fixed)
    if not groups:
        return Price(before.days, correction)
    wanted = visits_a_day * correction
    share = wanted / sum(group.pages for group in groups)
    enough = wanted * (1 + ROUNDING)
    low, high = LOWEST_PRICE, HIGHEST_PRICE
    while high / low > PRICE_PRECISION:
        days = math.sqrt(low * high)
        if _visits(groups, Price(days), share) > enough:
            low = days
        else:
            high = days
    return Price(math.sqrt(low * high), correction)


@dataclass(slots=True)
class _Group:
    """Pages of nearly the same rate, weight and bounds."""

    rate: float
    weight: float
    bounds: Bounds
    pages: int


def _grouped(pages: Iterable[Watched]) -> Sequence[_Group]:
    groups: dict[tuple[int, float, Bounds], _Group] = {}
    for page in pages:
        rate = page.rate.per_day
        key = (round(math.log2(rate) * BUCKETS_AN_OCTAVE), page.weight, page.bounds)
        group = groups.get(key)
        if group is None:
            groups[key] = _Group(rate, page.weight, page.bounds, 1)
        else:
            group.pages += 1
            group.rate += (rate - group.rate) / group.pages
    return list(groups.values())


def _visits(groups: Sequence[_Group], price: Price, share: float) -> float:
    visits = 0.0
    for group in groups:
        days = group.bounds.hold(best_interval_days(group.rate, group.weight, price))
        visits += group.pages * counted_a_day(1 / days, group.bounds, share)
    return visits
