"""How fresh watched pages are kept, beside what could be had if every page's rate of change were known.

Each cell is a world (how pages change) with a budget (visits a page and day), with and without weights. All rules see
the same changes and only learn, at each visit, whether a page changed since the one before. 90 days, of which the last
45 count: freshness is the part of page-time, weighted, in which the last visit saw what is there.

- optimum: knows each page's true rate (in the misspecified world: its mean), and divides the budget exactly.
- ours: `comity.watch.rules`; learns, and refits the price once a day.
- uniform: every page equally often.
- additive: what open crawlers usually do: an interval grows by a step where nothing changed and shrinks by one where
  something did. multiplicative: the same by factors (1.4 and 0.8). Both are scaled to the budget once a day.

Prints each cell's freshness as a ratio of the optimum's, mean of 5 seeds. Limits: ours 0.97 unweighted, 0.98 weighted,
and above uniform, additive and multiplicative in every cell; visits within 2 % of the budget. Exit 1 beyond.
"""

import math
import random
import statistics
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from comity.watch.rules.change_rate import ChangeRate, first_guess, learn, population_of
from comity.watch.rules.revisit import Bounds, Price, Watched, fit_price, interval_days

PAGES = 400
DAYS = 90
COUNTED_FROM = 45
SEEDS = 5
WORLDS = ("lognormal", "two kinds", "heavy tail", "misspecified")
BUDGETS = (0.4, 1.0, 3.0)
LEAST = {False: 0.97, True: 0.98}
BUDGET_OFF = 0.02
BOUNDS = Bounds(0.01, 60.0)
STEP_DAYS = 0.1
RULES = ("ours", "uniform", "additive", "multiplicative")


@dataclass(frozen=True)
class World:
    """Times of change of each page, in order; its rate; its weight."""

    changes: Sequence[Sequence[float]]
    rates: Sequence[float]
    weights: Sequence[float]


def poisson(chance: random.Random, rate: float, days: float) -> list[float]:
    times, at = [], chance.expovariate(rate)
    while at < days:
        times.append(at)
        at += chance.expovariate(rate)
    return times


def misspecified(chance: random.Random, kind: int, rate: float) -> list[float]:
    """Nothing that a Poisson process of one rate does: clockwork, bursts, a page that slows down; and one that is."""
    if kind == 0:
        return poisson(chance, rate, DAYS)
    if kind == 1:
        first = chance.random() / rate
        return [first + n / rate for n in range(int(DAYS * rate) + 1) if first + n / rate < DAYS]
    if kind == 2:
        starts = poisson(chance, rate / 4, DAYS)
        return sorted(at for start in starts for at in (start + 0.3 * chance.random() for _ in range(4)) if at < DAYS)
    return poisson(chance, 2 * rate, DAYS / 2) + [DAYS / 2 + at for at in poisson(chance, rate / 2, DAYS / 2)]


def world(name: str, *, weighted: bool, seed: int) -> World:
    chance = random.Random(f"{name} {seed}")
    changes, rates = [], []
    for number in range(PAGES):
        if name == "lognormal":
            rate = math.exp(chance.gauss(math.log(0.3), 1.5))
        elif name == "two kinds":
            rate = chance.choice([0.03, 3.0]) * math.exp(chance.gauss(0, 0.3))
        elif name == "heavy tail":
            rate = min(0.05 * chance.paretovariate(0.8), 50)
        else:
            rate = math.exp(chance.gauss(math.log(0.3), 1.2))
        times = misspecified(chance, number % 4, rate) if name == "misspecified" else poisson(chance, rate, DAYS)
        changes.append(times)
        rates.append(max(len(times) / DAYS, 1e-3) if name == "misspecified" else rate)
    weights = [float(chance.choice([1, 1, 1, 1, 2, 3, 5, 10, 30])) if weighted else 1.0 for _ in range(PAGES)]
    return World(changes, rates, weights)


class Rule:
    """Something that says when a page is visited again."""

    def morning(self, day: int) -> None:
        """Once a day, before its visits."""

    def after(self, page: int, elapsed_days: float, *, changed: bool) -> float:
        """Days to the page's next visit."""
        raise NotImplementedError


class Fixed(Rule):
    def __init__(self, intervals: Sequence[float]) -> None:
        self._intervals = intervals

    def after(self, page: int, elapsed_days: float, *, changed: bool) -> float:  # noqa: ARG002 - it does not look
        return self._intervals[page]


def optimum(seen: World, budget: float) -> Rule:
    free = Bounds(1e-9, 1e9)
    pages = [Watched(ChangeRate(r * 1e6, 1e6), w, free) for r, w in zip(seen.rates, seen.weights, strict=True)]
    price = fit_price(pages, budget * PAGES, Price(1))
    return Fixed([interval_days(page, price) for page in pages])


class Ours(Rule):
    def __init__(self, seen: World, budget: float) -> None:
        self._budget = budget * PAGES
        self._weights = seen.weights
        self._population = first_guess(budget)
        self._known = [self._population] * PAGES
        self._price = Price(1.0)
        self._made: list[int] = [0]

    def morning(self, day: int) -> None:
        if day > 3:
            self._population = population_of(self._known, self._population)
        made = sum(self._made[-7:]) / 7 if day >= 10 else None
        pages = [Watched(rate, weight, BOUNDS) for rate, weight in zip(self._known, self._weights, strict=True)]
        self._price = fit_price(pages, self._budget, self._price, made)
        self._made.append(0)

    def after(self, page: int, elapsed_days: float, *, changed: bool) -> float:
        self._made[-1] += 1
        rate = learn(self._known[page], self._population, elapsed_days=elapsed_days, changed=changed)
        self._known[page] = rate
        return interval_days(Watched(rate, self._weights[page], BOUNDS), self._price)


class Stepwise(Rule):
    def __init__(self, budget: float, step: Callable[[float, bool], float]) -> None:
        self._budget = budget * PAGES
        self._step = step
        self._intervals = [1 / budget] * PAGES
        self._scale = 1.0

    def morning(self, day: int) -> None:  # noqa: ARG002 - every day is alike
        self._scale = sum(1 / days for days in self._intervals) / self._budget

    def after(self, page: int, elapsed_days: float, *, changed: bool) -> float:  # noqa: ARG002 - it only counts steps
        self._intervals[page] = BOUNDS.hold(self._step(self._intervals[page], changed))
        return self._intervals[page] * self._scale


def rule(name: str, seen: World, budget: float) -> Rule:
    if name == "optimum":
        return optimum(seen, budget)
    if name == "ours":
        return Ours(seen, budget)
    if name == "uniform":
        return Fixed([1 / budget] * PAGES)
    if name == "additive":
        return Stepwise(budget, lambda days, changed: days - STEP_DAYS if changed else days + STEP_DAYS)
    return Stepwise(budget, lambda days, changed: days * (0.8 if changed else 1.4))


def lived(seen: World, by: Rule) -> tuple[float, float]:
    """Freshness, and visits a page and day, over the days that count."""
    chance = random.Random(1)
    last, counted = [0.0] * PAGES, [0] * PAGES
    due = [chance.random() for _ in range(PAGES)]
    fresh, visits = 0.0, 0
    for day in range(DAYS):
        by.morning(day)
        for page in range(PAGES):
            while due[page] < day + 1:
                at, changes = due[page], seen.changes[page]
                known = bisect_right(changes, at, counted[page])
                changed = known > counted[page]
                if at > COUNTED_FROM:
                    visits += 1
                    stale_from = changes[counted[page]] if changed else at
                    fresh += seen.weights[page] * max(stale_from - max(last[page], COUNTED_FROM), 0)
                due[page] = at + by.after(page, at - last[page], changed=changed)
                last[page], counted[page] = at, known
    for page, changes in enumerate(seen.changes):
        stale_from = changes[counted[page]] if counted[page] < len(changes) else DAYS
        fresh += seen.weights[page] * max(stale_from - max(last[page], COUNTED_FROM), 0)
    span = DAYS - COUNTED_FROM
    return fresh / (sum(seen.weights) * span), visits / (PAGES * span)


def one(cell: tuple[str, float, bool, int]) -> dict[str, tuple[float, float]]:
    """Each rule's freshness and visits in one world."""
    name, budget, weighted, seed = cell
    seen = world(name, weighted=weighted, seed=seed)
    return {which: lived(seen, rule(which, seen, budget)) for which in ("optimum", *RULES)}


def main() -> int:
    """0 where every cell is within its limits."""
    cells = list(product(WORLDS, BUDGETS, (False, True)))
    print(f"{'world':<14}{'visits/day':>10}{'weights':>9}{'optimum':>9}" + "".join(f"{name:>16}" for name in RULES))
    good = True
    with ProcessPoolExecutor() as workers:
        runs = list(workers.map(one, [(*cell, seed) for cell in cells for seed in range(SEEDS)]))
    for number, (name, budget, weighted) in enumerate(cells):
        of_cell = runs[number * SEEDS : (number + 1) * SEEDS]
        ratios = {which: statistics.fmean(run[which][0] / run["optimum"][0] for run in of_cell) for which in RULES}
        visits = statistics.fmean(run["ours"][1] for run in of_cell) / budget
        best_other = max(ratios[which] for which in RULES[1:])
        fine = ratios["ours"] >= LEAST[weighted] and ratios["ours"] > best_other and abs(visits - 1) <= BUDGET_OFF
        good = good and fine
        known = statistics.fmean(run["optimum"][0] for run in of_cell)
        line = f"{name:<14}{budget:>10}{'yes' if weighted else 'no':>9}{known:>9.3f}"
        line += "".join(f"{ratios[which]:>16.3f}" for which in RULES)
        print(f"{line}  visits {visits:.3f} of the budget{'' if fine else f'  BEYOND (least {LEAST[weighted]})'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
