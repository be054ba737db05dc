"""How often a page changes, learnt from visits that only tell whether it changed since the visit before.

Changes are taken for a Poisson process. What is known of its rate is a Gamma distribution, two floats a page. A visit
after t days without a change multiplies it by exp(-rate t): the exposure grows by t, exactly. A visit that finds one or
more changes multiplies it by 1 - exp(-rate t), which is no Gamma; the one of the same mean and variance is kept instead
(assumed-density filtering). So irregular visits, and several changes behind one visit, leave no bias such as counting
changes has (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3, 2003).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

REMEMBERED = 0.98
"""What a visit leaves of the weight of all before it: half of it is gone after 34 visits, so that a page may change its
ways. In `bench/revisit`, 1.0 and 0.95 do as well within half a percent."""
LEAST_DAYS = 1 / 86_400
"""Visits in the same second tell nothing apart."""
LEAST_SHAPE, MOST_SHAPE = 0.2, 2.0
FIRST_SHAPE = 0.5
LEAST_RATE, MOST_RATE = 1e-5, 5_000.0
"""Changes a day: once in 270 years, and every 17 s. Beyond these, no visit could tell the difference."""


@dataclass(frozen=True, slots=True)
class ChangeRate:
    """A Gamma distribution of changes a day: `shape`, and `exposure_days` as its rate parameter."""

    shape: float
    exposure_days: float

    @property
    def per_day(self) -> float:
        """The mean, within what a visit can tell."""
        return min(max(self.shape / self.exposure_days, LEAST_RATE), MOST_RATE)


def first_guess(changes_a_day: float) -> ChangeRate:
    """Before anything was seen of any page: about as often as `changes_a_day`, and not sure at all."""
    return ChangeRate(FIRST_SHAPE, FIRST_SHAPE / changes_a_day)


def learn(known: ChangeRate, population: ChangeRate, *, elapsed_days: float, changed: bool) -> ChangeRate:
    """What a visit adds, `elapsed_days` after the one before it. What is forgotten goes back to the `population`'s."""
    elapsed_days = max(elapsed_days, LEAST_DAYS)
    shape = population.shape + (known.shape - population.shape) * REMEMBERED
    exposure_days = population.exposure_days + (known.exposure_days - population.exposure_days) * REMEMBERED
    if not changed:
        return ChangeRate(shape, exposure_days + elapsed_days)
    # Moments of Gamma(a, b) times 1 - exp(-rate t), with q = (b / (b + t)):
    #   E[rate] = a/b (1 - q^(a+1)) / (1 - q^a),  E[rate^2] = a(a+1)/b^2 (1 - q^(a+2)) / (1 - q^a)
    log_q = -math.log1p(elapsed_days / exposure_days)
    weight = -math.expm1(shape * log_q)
    mean = shape / exposure_days * -math.expm1((shape + 1) * log_q) / weight
    square = shape * (shape + 1) / exposure_days**2 * -math.expm1((shape + 2) * log_q) / weight
    variance = max(square - mean * mean, mean * mean * 1e-6)
    return ChangeRate(mean * mean / variance, mean / variance)


def population_of(known: Iterable[ChangeRate], before: ChangeRate) -> ChangeRate:
    """What to expect of a page of which nothing is known, from all that are: mean and spread (empirical Bayes).

    `before` where there is no page.
    """
    count, total, square, own = 0, 0.0, 0.0, 0.0
    for one in known:
        rate = one.per_day
        count += 1
        total += rate
        square += rate * rate
        own += rate * rate / one.shape
    if not count:
        return before
    mean = total / count
    variance = max(square / count - mean * mean, 0) + own / count
    shape = min(max(mean * mean / variance, LEAST_SHAPE), MOST_SHAPE)
    return ChangeRate(shape, shape / mean)
