"""What visits tell of how often a page changes."""

import math
import random

import pytest

from comity.watch.rules.change_rate import (
    LEAST_RATE,
    MOST_RATE,
    ChangeRate,
    first_guess,
    learn,
    population_of,
)


def seen(changes_a_day: float, visits_a_day: float, visits: int, seed: int) -> ChangeRate:
    """A page of that rate, visited at irregular times."""
    chance = random.Random(seed)
    population = known = first_guess(1.0)
    for _ in range(visits):
        elapsed_days = chance.expovariate(visits_a_day)
        changed = chance.random() < -math.expm1(-changes_a_day * elapsed_days)
        known = learn(known, population, elapsed_days=elapsed_days, changed=changed)
    return known


@pytest.mark.parametrize("changes_a_day", [0.05, 0.5, 2.0])
def test_rate_is_learnt_from_irregular_visits_closely(changes_a_day: float) -> None:
    learnt = [seen(changes_a_day, 1.0, 200, seed).per_day for seed in range(60)]
    assert sum(learnt) / len(learnt) == pytest.approx(changes_a_day, rel=0.2)


def test_several_changes_behind_one_visit_are_allowed_for() -> None:
    # Counting changed visits would say at most one change a day.
    learnt = [seen(3.0, 1.0, 300, seed).per_day for seed in range(40)]
    assert 2.4 < sum(learnt) / len(learnt) < 3.9


def test_no_change_lowers_the_rate_and_a_change_raises_it() -> None:
    known = first_guess(1.0)
    assert learn(known, known, elapsed_days=1, changed=False).per_day < known.per_day
    assert learn(known, known, elapsed_days=0.1, changed=True).per_day > known.per_day


def test_no_change_is_exposure_exactly() -> None:
    population = ChangeRate(0.5, 0.5)
    assert learn(population, population, elapsed_days=2, changed=False) == ChangeRate(0.5, 2.5)


def test_page_that_changes_its_ways_is_followed() -> None:
    population = known = first_guess(1.0)
    for _ in range(200):
        known = learn(known, population, elapsed_days=1, changed=False)
    was = known.per_day
    for _ in range(60):
        known = learn(known, population, elapsed_days=1, changed=True)
    assert was < 0.02
    assert known.per_day > 0.7


@pytest.mark.parametrize("elapsed_days", [0.0, -3.0, 1e-9, 1e9])
@pytest.mark.parametrize("changed", [True, False])
def test_clocks_that_jump_leave_a_rate(elapsed_days: float, changed: bool) -> None:
    population = known = first_guess(1.0)
    for _ in range(500):
        known = learn(known, population, elapsed_days=elapsed_days, changed=changed)
        assert LEAST_RATE <= known.per_day <= MOST_RATE
        assert known.shape > 0
        assert known.exposure_days > 0


def test_population_has_the_mean_and_the_spread_of_its_pages() -> None:
    sure = [ChangeRate(rate * 1000, 1000) for rate in (0.5, 1.5)]
    found = population_of(sure, first_guess(9))
    assert found.per_day == pytest.approx(1.0)
    assert found.shape == pytest.approx(
        2.0
    )  # the variance of 0.25 would be a shape of 4, which is more than is trusted
    wide = population_of([ChangeRate(rate * 1000, 1000) for rate in (0.001, 0.001, 0.001, 3.997)], first_guess(9))
    assert wide.per_day == pytest.approx(1.0)
    assert wide.shape == pytest.approx(1 / 3, rel=0.02)


def test_population_of_no_pages_is_the_one_before() -> None:
    assert population_of([], first_guess(3)) == first_guess(3)
