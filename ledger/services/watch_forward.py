"""Pages that were put off by a price that is over come back: spread over their new intervals, never all at once."""

from collections.abc import Callable

from comity.contract.watch import OURS
from comity.watch.rules.change_rate import ChangeRate
from comity.watch.rules.next_visit import next_visit
from comity.watch.rules.revisit import Price
from ledger.clock import Clock
from ledger.rules.watch_due import watched
from ledger.rules.watch_pages import settings_of
from ledger.rules.watch_price import brought_forward
from ledger.rules.watch_tally import TallyChange
from ledger.services.watch_terms import WatchTerms
from ledger.store import watch_price, watch_queue, watch_tally
from ledger.store.database import Store, Tx

AT_ONCE = 500


class BringForward:
    """`spread`: random numbers below 1."""

    def __init__(self, store: Store, clock: Clock, terms: WatchTerms, spread: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._terms = terms
        self._spread = spread

    def all(self, price: Price) -> int:
        """Go through the queue, some pages in a transaction; returns how many come sooner."""
        after = moved = 0
        while True:
            with self._store.writing() as tx:
                found = watch_price.learnt_pages(tx, OURS, after=after, limit=AT_ONCE)
                if found:
                    moved += self._some(tx, dict(found), price)
            if len(found) < AT_ONCE:
                return moved
            after = found[-1][0]

    def _some(self, tx: Tx, hosts: dict[int, int], price: Price) -> int:
        """What stands in the queue is read again once the hosts are locked: a visit may have come to its end."""
        watch_queue.lock_hosts(tx, hosts.values())
        flying = watch_queue.pages_in_flight(tx, hosts)
        dues = watch_queue.dues(tx, hosts)
        now = self._clock()
        tally = TallyChange()
        moved: list[tuple[int, str]] = []
        rows = []
        for one in watch_price.waiting(tx, hosts):
            due = dues.get(one.page_id)
            if due is None or one.page_id in flying:
                continue
            settings = settings_of(one.settings, self._terms.canaries)
            page = watched(settings, self._terms.bounds, ChangeRate(one.rate[0], one.rate[1]), one.lists)
            at = brought_forward(
                page, price, due_at=due.due_at, last_visit_at=one.last_visit_at, spread=self._spread(), now=now
            )
            if at is None:
                continue
            tally.moves(OURS, one.organization, due.due_at, at)
            rows.append((one.page_id, at, due.lost))
            moved.append((one.page_id, next_visit(page, price, now=now).because))
        watch_queue.set_dues(tx, rows)
        watch_price.explain(tx, moved)
        watch_queue.refresh(tx, [hosts[page] for page, _ in moved])
        watch_tally.apply(tx, tally)
        return len(moved)
