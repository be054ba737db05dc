"""The two ways in which a crawl's run is told to be over: it gave up, or a person cancelled the crawl."""

from collections.abc import Sequence

from comity.contract.ledger import RunFailed, RunFailedAnswer
from ledger.clock import Clock
from ledger.errors import WrongState
from ledger.rules import fence
from ledger.services.background import Background
from ledger.services.end_attempt import end_attempt
from ledger.services.fencing import claim, crawl_and_level, holder, keep_evidence
from ledger.store import levels
from ledger.store.database import Store


class StopCrawlService:
    """Ends attempts and crawls early."""

    def __init__(self, store: Store, background: Background, clock: Clock) -> None:
        self._store = store
        self._background = background
        self._clock = clock

    def run_failed(self, crawl_id: str, report: RunFailed) -> RunFailedAnswer:
        """`POST …/failed`: the level's run is over without closing it. Only the level's own run is believed, and once.

        One that crashed is followed by the next attempt, as often as that is worth trying. Raises Unknown.
        """
        now = self._clock()
        with self._store.writing() as tx:
            crawl, level = crawl_and_level(tx, crawl_id)
            refusal = fence.may_fail(holder(crawl, level), claim(report))
            if refusal is not None:
                keep_evidence(tx, crawl_id, "failed", report, why=refusal, at=now)
                return RunFailedAnswer(closed=False)
            levels.bind(tx, level, run_id=report.run_id)
            followed = end_attempt(tx, crawl, level, how=report.outcome, reason=report.reason, at=now)
        if not followed.closed:
            self._background.dispatch(crawl_id)
        return RunFailedAnswer(closed=followed.closed, next_attempt=followed.next_attempt)

    def cancel(self, crawl_id: str, organizations: Sequence[str] | None = None, *, by: str) -> None:
        """`POST …/cancel`: free the slot now, and ask Prefect to stop the run. Captured pages stay. Again: the same.

        Raises Unknown; WrongState where the crawl ended otherwise.
        """
        with self._store.writing() as tx:
            crawl, level = crawl_and_level(tx, crawl_id, organizations)
            if crawl.state == "cancelled":
                return
            if crawl.state != "running":
                raise WrongState(f"crawl {crawl_id} has ended already: {crawl.state}")
            end_attempt(tx, crawl, level, how="cancelled", reason=f"cancelled by {by}", at=self._clock())
            runs, _ = levels.last_runs(tx, level)
        for run_id in runs:
            self._background.stop_run(run_id)
