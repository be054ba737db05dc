"""When a page is visited again, and what a price makes of a budget."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.watch.rules.change_rate import ChangeRate
from comity.watch.rules.revisit import (
    Bounds,
    Price,
    Watched,
    best_interval_days,
    changes_between_visits,
    fit_price,
    interval_days,
    worth,
)

FREE = Bounds(0.0, 1e9)


def page(rate: float, weight: float = 1, bounds: Bounds = FREE) -> Watched:
    return Watched(ChangeRate(rate * 100, 100), weight, bounds)


def freshness(rate: float, interval: float) -> float:
    return -math.expm1(-rate * interval) / (rate * interval)


@given(st.floats(1e-12, 1, exclude_max=True))
def test_inverse_gives_the_worth_back(value: float) -> None:
    x = changes_between_visits(value)
    assert worth(x) == pytest.approx(value, rel=1e-6, abs=1e-13)


def test_inverse_at_its_ends() -> None:
    assert changes_between_visits(0) == 0
    assert changes_between_visits(1) == math.inf
    assert changes_between_visits(7) == math.inf


def test_price_spends_the_budget_and_no_other_division_is_fresher() -> None:
    rates = (0.1, 0.4, 1.0, 3.0)
    pages = [page(rate) for rate in rates]
    price = fit_price(pages, 4.0, Price(1))
    intervals = [interval_days(one, price) for one in pages]
    assert sum(1 / days for days in intervals) == pytest.approx(4.0, rel=1e-3)
    best = sum(freshness(rate, days) for rate, days in zip(rates, intervals, strict=True))
    for giver in range(4):
        for taker in range(4):
            if giver == taker:
                continue
            visits = [1 / days for days in intervals]
            visits[giver] -= 0.05
            visits[taker] += 0.05
            other = sum(freshness(rate, 1 / often) for rate, often in zip(rates, visits, strict=True))
            assert other <= best + 1e-4


def test_page_that_changes_too_fast_for_its_weight_is_left_to_its_longest_interval() -> None:
    price = Price(1.0)
    assert best_interval_days(0.5, 1, price) < math.inf
    assert best_interval_days(1.5, 1, price) == math.inf
    assert best_interval_days(1.5, 2, price) < math.inf
    assert interval_days(page(1.5, bounds=Bounds(0.1, 30)), price) == 30


def test_weight_brings_visits_forward() -> None:
    price = Price(0.5)
    assert best_interval_days(1, 10, price) < best_interval_days(1, 2, price) < best_interval_days(1, 1, price)


@pytest.mark.parametrize(("bounds", "days"), [(Bounds(5, 9), 5), (Bounds(0.001, 0.01), 0.01), (Bounds(3, 3), 3)])
def test_bounds_win(bounds: Bounds, days: float) -> None:
    assert interval_days(page(1.0, bounds=bounds), Price(0.5)) == days


MINUTE, USUAL = 1 / 1440, Bounds(1 / 96, 30)


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [page(1.0, bounds=Bounds(MINUTE, MINUTE))],
        [page(0.1, bounds=Bounds(30, 30))],
        [page(0.1, bounds=Bounds(0.5, 0.5))] * 20,
    ],
    ids=["none", "a minute", "a month", "many"],
)
@pytest.mark.parametrize("budget", [2.0, 7.0, 20.0])
def test_fixed_intervals_are_outside_the_budget(asked: list[Watched], budget: float) -> None:
    free = [page(rate, bounds=USUAL) for rate in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)]
    price = fit_price([*asked, *free], budget, Price(1))
    assert sum(1 / interval_days(one, price) for one in free) == pytest.approx(budget, rel=2e-3)


@pytest.mark.parametrize(("most_days", "left"), [(2 * MINUTE, 7.0), (1.0, 7.0), (8.0, 7.875)])
def test_longest_interval_takes_no_more_than_its_even_share(most_days: float, left: float) -> None:
    free = [page(rate, bounds=USUAL) for rate in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)]
    seldom = page(1e-9, bounds=Bounds(MINUTE, most_days))
    price = fit_price([seldom, *free], 8.0, Price(1))
    assert interval_days(seldom, price) == most_days
    assert sum(1 / interval_days(one, price) for one in free) == pytest.approx(left, rel=2e-3)


def test_pages_that_all_ask_for_more_than_there_is_get_what_they_asked_for() -> None:
    pages = [page(rate, bounds=Bounds(MINUTE, 0.1)) for rate in (0.5, 1.0, 5.0)]
    price = fit_price(pages, 3.0, Price(1))
    assert [interval_days(one, price) for one in pages] == pytest.approx([0.1, 0.1, 0.1], rel=1e-3)


def test_price_stays_where_it_moves_nothing_and_falls_where_bounds_allow_less() -> None:
    fixed = [page(1.0, bounds=Bounds(0.1, 0.1))]
    assert fit_price(fixed, 1.0, Price(3.0)).days == 3.0
    assert fit_price([], 5.0, Price(3.0)).days == 3.0
    assert fit_price([page(1.0, bounds=Bounds(1, 9))], 5.0, Price(3.0)).days < 1e-11


def test_plan_makes_up_for_visits_that_were_not_made() -> None:
    pages = [page(rate) for rate in (0.2, 0.5, 1.0)]
    planned = fit_price(pages, 2.0, Price(1))
    missed = fit_price(pages, 2.0, planned, made_a_day=1.5)
    over = fit_price(pages, 2.0, planned, made_a_day=2.5)
    assert missed.days < planned.days < over.days
    for _ in range(50):
        missed = fit_price(pages, 2.0, missed, made_a_day=0.0)
    assert missed.correction == 2.0
