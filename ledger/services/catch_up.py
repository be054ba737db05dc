"""What was missed, made good: late manifests, captures that nobody reported, pages that nobody indexed. And on request,
extractions that were given up.

A timer in the ledger does it all the time, `comity reconcile` at once. Each pass has a budget; what is left over is the
next one's.
"""

import threading
import time
from collections.abc import Callable, Sequence

from comity.contract.ledger import CaughtUp
from ledger import log
from ledger.errors import Unknown
from ledger.services.admit_late import LateManifestService
from ledger.services.adopt import AdoptionService
from ledger.services.index_pages import IndexService
from ledger.services.reconcile_extractions import ExtractionReconciler
from ledger.store import crawls
from ledger.store.database import Store

PASS_BUDGET_S = 20.0
INDEX_BUDGET_S = 12.0
"""A flow run waits 30 s for an answer, and one read from an object store that hangs can take 16 s."""
STOP_WAIT_S = 2.0
TURN = "catch-up"
"""One ledger of a database at a time looks by itself."""


class CatchUp:
    """`every_s` between two passes."""

    def __init__(
        self,
        store: Store,
        late: LateManifestService,
        adoptions: AdoptionService,
        index: IndexService,
        extractions: ExtractionReconciler,
        *,
        every_s: float,
    ) -> None:
        self._store = store
        self._late = late
        self._adoptions = adoptions
        self._index = index
        self._extractions = extractions
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """From now on, pass after pass in a thread of its own, until `stop`."""
        # A daemon: a read that hangs in an object store must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="catch-up", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Begin no more, and wait a little for the pass under way."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_WAIT_S)

    def _run(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                with self._store.exclusively(TURN) as alone:
                    if alone:
                        self.one_pass()
            except Exception as error:  # the next pass tries again
                if not self._stopping.is_set():
                    log.failure("catch_up_failed", error)

    def one_pass(self, crawl_id: str | None = None, organizations: Sequence[str] | None = None) -> CaughtUp:
        """All that can be made good now, of one crawl or of what is recent, of these organisations (None: of all).

        Raises Unknown.
        """
        if crawl_id is not None:
            with self._store.reading() as tx:
                if crawls.get(tx, crawl_id, organizations) is None:
                    raise Unknown("crawl", crawl_id)
        left = budget(PASS_BUDGET_S)

        def in_time() -> bool:
            return left() and not self._stopping.is_set()

        looked = self._late.look_again(crawl_id, organizations, in_time=in_time)
        adopted = 0
        for candidate in [crawl_id] if crawl_id is not None else self._adoptions.candidates(organizations):
            if in_time():
                adopted += self._adoptions.adopt(candidate, budget_s=PASS_BUDGET_S / 2)
        if crawl_id is not None:
            answer = self._index.index_crawl(crawl_id, in_time=in_time)
            indexed = answer.indexed
            self._extractions.ask_again(crawl_id)  # the reconciler's next pass hands it to Prefect
        else:
            indexed = self._index.index_missed(organizations, in_time=in_time)
        return CaughtUp(
            admitted=looked.admitted,
            absent=looked.absent,
            waiting=looked.waiting,
            adopted=adopted,
            indexed=indexed,
        )


def budget(seconds: float) -> Callable[[], bool]:
    """True while there is time left, counted from now."""
    ends_s = time.monotonic() + seconds
    return lambda: time.monotonic() < ends_s
