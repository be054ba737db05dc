"""What watching leaves behind, removed little by little: old history and evidence, and counts of past minutes."""

import asyncio
from datetime import timedelta

from ledger import log
from ledger.clock import Clock
from ledger.services.host_gate import PREVIEW, WATCH
from ledger.services.watch_terms import WatchTerms
from ledger.store import hosts, watch_reports, watch_tally
from ledger.store.database import Store

EVERY_S = 300
TURN = "watch-tidy"
BATCHES = 1000
"""Of a thousand rows each: what one pass removes at most, a million visits."""


class TidyService:
    """Removes what is older than the deployment keeps."""

    def __init__(self, store: Store, clock: Clock, terms: WatchTerms) -> None:
        self._store = store
        self._clock = clock
        self._terms = terms

    async def run(self) -> None:
        """A pass now and every few minutes, until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await asyncio.to_thread(self.once)
            except Exception as error:
                log.failure("watch_tidy_failed", error)

    def once(self) -> int:
        """One pass; returns how many rows went. Nothing where another ledger is at it."""
        before = self._clock() - timedelta(days=self._terms.history_days)
        gone = 0
        with self._store.exclusively(TURN) as alone:
            if not alone:
                return 0
            for _ in range(BATCHES):
                with self._store.writing() as tx:
                    some = watch_reports.forget_visits(tx, before=before)
                    for kind in (WATCH, PREVIEW):
                        some += hosts.forget_ended(tx, kind, before=before, limit=watch_reports.ROWS_AT_ONCE)
                gone += some
                if not some:
                    break
            with self._store.writing() as tx:
                watch_tally.forget_empty(tx, before=self._clock())
        return gone
