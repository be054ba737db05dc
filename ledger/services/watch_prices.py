"""The price of a visit, fitted daily to the day's budget from what all pages have taught, and kept for all ledgers."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from datetime import datetime

from comity.contract.watch import OURS
from comity.watch.rules.change_rate import ChangeRate, population_of
from comity.watch.rules.revisit import Price, Watched, fit_price
from ledger import log
from ledger.clock import Clock
from ledger.rules.watch_due import USUAL, Prices, watched
from ledger.rules.watch_pages import settings_of
from ledger.rules.watch_price import LastFit, fell, is_due, made_a_day
from ledger.services.watch_forward import BringForward
from ledger.services.watch_terms import WatchTerms
from ledger.store import watch_price
from ledger.store.database import Store, Tx
from ledger.store.models_price import WatchPrice
from ledger.store.watch_price import SampledPage

TURN = "watch-price"
LOOK_EVERY_S = 60
"""Pages that came or went have their price, and those that the old one put off come back, about a minute later."""
SAMPLE = 50_000
"""Pages that a fit looks at: every tenth of half a million, some seconds of work once a day."""
KNOWN_S = 60.0
_random = secrets.SystemRandom()
FIXED = "fixedIntervalMs"


class PriceService:
    """`now()` for those who reschedule pages; `once()` fits where it is time."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        terms: WatchTerms,
        spread: Callable[[], float] = _random.random,
    ) -> None:
        self._store = store
        self._forward = BringForward(store, clock, terms, spread)
        self._clock = clock
        self._terms = terms
        self._known = USUAL
        self._known_until_s = 0.0

    def now(self) -> Prices:
        """What a visit costs, at most a minute old."""
        now_s = time.monotonic()
        if now_s >= self._known_until_s:
            with self._store.reading() as tx:
                row = watch_price.last(tx)
            self._known, self._known_until_s = _prices(row), now_s + KNOWN_S
        return self._known

    async def run(self) -> None:
        """Look every few minutes whether it is time, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await asyncio.to_thread(self.once)
            except Exception as error:
                log.failure("watch_price_failed", error)

    def once(self) -> bool:
        """Fit, where it is time and no other ledger is at it. Whether it did."""
        with self._store.exclusively(TURN) as alone:
            if not alone:
                return False
            now = self._clock()
            with self._store.reading() as tx:
                row = watch_price.last(tx)
                pages = watch_price.pages_not_fixed(tx, OURS, self._fixing_canaries())
                budget = self._terms.visits_a_day if self._terms.visits_a_day is not None else float(pages)
                if not is_due(_fit_of(row), pages=pages, visits_a_day=budget, now=now):
                    return False
                fitted, made = self._fit(tx, row, now)
            before = _prices(row).price
            fitted.fitted_at, fitted.pages, fitted.visits_a_day = now, pages, budget
            price = _prices(fitted).price
            with self._store.writing() as tx:
                watch_price.keep(tx, fitted)
            self._known_until_s = 0.0
            sooner = self._forward.all(price) if fell(before, price) else 0
        log.event(
            "watch_price_fitted",
            pages=pages,
            visits_a_day=budget,
            made_a_day=made,
            price_days=price.days,
            brought_forward=sooner,
        )
        return True

    def _fit(self, tx: Tx, row: WatchPrice | None, now: datetime) -> tuple[WatchPrice, float | None]:
        """A new price, and how many visits a day the old one made."""
        before, last = _prices(row), _fit_of(row)
        newest = watch_price.newest_visit(tx)
        every = max(1, watch_price.pages(tx, OURS) // SAMPLE)
        sampled = watch_price.sample(tx, OURS, every, after_visit=newest if last is None else last.visit_id)
        seen = [one for one in self._watched(sampled, before) if not one[0].is_fixed]
        budget = float(len(seen)) if self._terms.visits_a_day is None else self._terms.visits_a_day / every
        share = budget / max(1, len(seen))
        made = made_a_day(last, seen, price=before.price, share=share, now=now)
        price = fit_price((page for page, _ in seen), budget, before.price, made)
        population = population_of((page.rate for page, _ in seen), before.population)
        fitted = WatchPrice(
            days=price.days,
            correction=price.correction,
            shape=population.shape,
            exposure_days=population.exposure_days,
            visit_id=newest,
        )
        return fitted, None if made is None else made * every

    def _watched(self, rows: Iterator[SampledPage], before: Prices) -> Iterator[tuple[Watched, int]]:
        for kept, rate, lists, visits in rows:
            settings = settings_of(kept, self._terms.canaries)
            learnt = before.population if rate is None else ChangeRate(rate[0], rate[1])
            yield watched(settings, self._terms.bounds, learnt, lists), visits

    def _fixing_canaries(self) -> list[str]:
        return [name for name, one in self._terms.canaries.items() if one.get(FIXED) is not None]


def _prices(row: WatchPrice | None) -> Prices:
    if row is None:
        return USUAL
    return Prices(Price(row.days, row.correction), ChangeRate(row.shape, row.exposure_days))


def _fit_of(row: WatchPrice | None) -> LastFit | None:
    return None if row is None else LastFit(row.fitted_at, row.pages, row.visits_a_day, row.visit_id)
