"""The price of a visit, fitted daily to the day's budget from what all pages have taught, and kept for all ledgers."""

import asyncio
import time
from collections.abc import Iterator
from datetime import timedelta

from comity.contract.watch import OURS
from comity.watch.rules.change_rate import ChangeRate, population_of
from comity.watch.rules.revisit import Bounds as DayBounds
from comity.watch.rules.revisit import Price, Watched, fit_price
from ledger import log
from ledger.clock import Clock
from ledger.rules.watch_due import USUAL, Prices, bounds_of
from ledger.rules.watch_pages import settings_of
from ledger.rules.watch_price import LastFit, is_due, made_a_day
from ledger.services.watch_terms import WatchTerms
from ledger.store import watch_price
from ledger.store.database import Store
from ledger.store.models_price import WatchPrice
from ledger.store.watch_price import SampledPage

TURN = "watch-price"
LOOK_EVERY_S = 300
SAMPLE = 50_000
"""Pages that a fit looks at: every tenth of half a million, some seconds of work once a day."""
KNOWN_S = 60.0
DAY = timedelta(days=1)


class PriceService:
    """`now()` for those who reschedule pages; `once()` fits where it is time."""

    def __init__(self, store: Store, clock: Clock, terms: WatchTerms) -> None:
        self._store = store
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
                last = watch_price.last(tx)
                pages = watch_price.pages(tx, OURS)
                newest = watch_price.newest_visit(tx)
                if not is_due(_fit_of(last), pages=pages, now=now):
                    return False
                before = _prices(last)
                watched = list(self._watched(watch_price.sample(tx, OURS, max(1, pages // SAMPLE)), before))
            budget = self._terms.visits_a_day if self._terms.visits_a_day is not None else float(pages)
            made = made_a_day(_fit_of(last), newest_visit=newest, now=now)
            share = len(watched) / pages
            price = fit_price(watched, budget * share, before.price, None if made is None else made * share)
            population = population_of((one.rate for one in watched), before.population)
            with self._store.writing() as tx:
                watch_price.keep(
                    tx,
                    WatchPrice(
                        days=price.days,
                        correction=price.correction,
                        shape=population.shape,
                        exposure_days=population.exposure_days,
                        fitted_at=now,
                        visit_id=newest,
                        pages=pages,
                        visits_a_day=budget,
                    ),
                )
        self._known_until_s = 0.0
        log.event("watch_price_fitted", pages=pages, visits_a_day=budget, made_a_day=made, price_days=price.days)
        return True

    def _watched(self, rows: Iterator[SampledPage], before: Prices) -> Iterator[Watched]:
        for kept, rate, lists in rows:
            bounds = bounds_of(settings_of(kept, self._terms.canaries), self._terms.bounds)
            learnt = before.population if rate is None else ChangeRate(rate[0], rate[1])
            yield Watched(learnt, max(1.0, float(lists)), DayBounds(bounds.least / DAY, bounds.most / DAY))


def _prices(row: WatchPrice | None) -> Prices:
    if row is None:
        return USUAL
    return Prices(Price(row.days, row.correction), ChangeRate(row.shape, row.exposure_days))


def _fit_of(row: WatchPrice | None) -> LastFit | None:
    return None if row is None else LastFit(row.fitted_at, row.pages, row.visit_id)
