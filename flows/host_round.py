"""The round of one host: one page at a time, the gap between one's end and the next's beginning."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from comity.contract.capture import ArtifactSink
from comity.contract.ledger import PageResult
from comity.polite.rules.sitemaps import SitemapFetch
from flows.delivery import Delivery, Log
from flows.errors import LeaseLost, Stopped
from flows.host_lease import HostGate
from flows.rules.facts import LevelFacts
from flows.rules.pacing import gap_ms, rest_ms, wait_before_ms
from flows.rules.plan import HostPlan, PageWork, too_long
from flows.rules.results import captured_or_failed, failed, skipped
from flows.rules.retry import HOST_UNREACHABLE, Streak, asks_for_rest, tries_again
from flows.rules.sitemaps import SitemapQueue, told
from flows.sitemap_reading import read_sitemap
from flows.stop import StopSignal, Stopwatch
from flows.submission import Endpoint, Submission, Submitted, submission


@dataclass(frozen=True, slots=True)
class HostSummary:
    """What came of a host's pages. `pending` were left because the level was told to stop."""

    host: str
    captured: int
    failed: int
    skipped: int
    pending: int


class HostRound:
    """Visits the pages of one host in order.

    The gap counts from the end of one capture to the next submission: how long a capture takes is not known before, so
    a gap measured from submissions says nothing about the gap that the other server feels. Every capture has the host's
    lease, which covers what this level does not see: other levels, other crawls, other machines.
    """

    def __init__(
        self,
        plan: HostPlan,
        facts: LevelFacts,
        *,
        endpoints: Sequence[Endpoint],
        delivery: Delivery,
        gate: HostGate,
        stop: StopSignal,
        sink: Callable[[], ArtifactSink | None],
        log: Log,
    ) -> None:
        self._plan = plan
        self._facts = facts
        self._endpoints = endpoints
        self._delivery = delivery
        self._gate = gate
        self._stop = stop
        self._sink = sink
        self._log = log
        self._since_finish: Stopwatch | None = None
        self._rest_ms = 0
        self._rests_too_long: str | None = None
        self._streak = Streak()
        self._counts = {"captured": 0, "failed": 0, "skipped": 0}

    def run(self) -> HostSummary:
        """Every page gets an outcome, or stays pending where the level stops.

        Raises ServerUnavailable, HostNotFree, LedgerUnavailable, and the ledger's refusal of a result or a lease.
        """
        try:
            self._read_sitemaps()
            for number, page in enumerate(self._plan.pages):
                self._deliver([self._visit(page, number)])
                reason = self._why_end()
                if reason:
                    self._skip(self._plan.pages[number + 1 :], reason)
                    break
        except Stopped:
            self._log.info("%s: stopped", self._plan.host)
        finally:
            self._gate.pay()
        return self._summary()

    def _promised_gap_ms(self) -> int:
        """What the host is promised now: its delay, or the longer rest that it asked for and that still counts."""
        return wait_before_ms(self._plan.delay_ms, self._rest_ms)

    def _wait_ms(self) -> int:
        since_ms = None if self._since_finish is None else self._since_finish.elapsed_ms
        return gap_ms(self._promised_gap_ms(), since_ms)

    # --- one page

    def _visit(self, page: PageWork, number: int) -> PageResult:
        """The page's result, after a second try where the first failed for a passing cause."""
        offer = submission(
            self._facts,
            self._endpoints,
            page,
            host_place=self._plan.place,
            page_number=number,
            stop=self._stop,
            sink=self._sink,
        )
        captures, result = 0, None
        while True:
            try:
                submitted = self._capture(offer)
            except ValueError as error:
                return failed(page, f"cannot be captured: {error}", offer.tries)
            except Stopped:
                if result is None:
                    raise
                return result  # it was visited: the evidence goes to the ledger, the second try does not happen
            if submitted is None:
                return result or skipped(page, str(self._rests_too_long))
            captures += 1
            result = self._result(page, submitted, offer)
            if submitted.failure is None or not tries_again(submitted.failure, captures):
                return result
            self._log.info("%s: %s; once more after the gap", page.url, submitted.outcome)

    def _capture(self, offer: Submission) -> Submitted | None:
        """One capture under one lease, after the longer of our own wait and the gate's. None: the host rests too long.

        The host is given back before anyone hears of the result: its rest begins now, whatever becomes of that.
        """
        while True:
            with self._gate.lease() as lease:
                self._rests_too_long = too_long(
                    lease.wait_ms, self._facts.max_host_delay_ms, "an earlier Retry-After of the host"
                )
                if self._rests_too_long:
                    return None
                try:
                    self._stop.sleep(wait_before_ms(self._wait_ms(), lease.wait_ms))
                    submitted = offer.submit(wait_before_ms(self._promised_gap_ms(), lease.gap_ms), lease)
                except LeaseLost as lost:
                    self._log.warning("%s: %s; asked for again", self._plan.host, lost)
                    continue
                self._finished(submitted)
                lease.retry_after_ms = self._rest_ms or None
                return submitted

    def _finished(self, submitted: Submitted) -> None:
        self._since_finish = Stopwatch()
        self._rest_ms = 0
        self._streak = self._streak.after(submitted.failure)
        report = submitted.answer.report if submitted.answer else None
        if report is not None and asks_for_rest(report):
            self._rest_ms = rest_ms(self._plan.delay_ms, report.retry_after_ms)
            self._log.info("%s answered %s: rests %s ms", self._plan.host, report.http_status_code, self._rest_ms)

    def _result(self, page: PageWork, submitted: Submitted, offer: Submission) -> PageResult:
        if submitted.answer is not None:
            return captured_or_failed(page, submitted.answer, offer.tries)
        return failed(page, submitted.outcome, offer.tries, lost=submitted.failure == "lost")

    # --- sitemaps

    def _read_sitemaps(self) -> None:
        """All sitemaps of the host, each a visit. What is wrong with one is a warning, and keeps no page waiting."""
        queue = SitemapQueue.beginning_at(self._plan.sitemaps)
        while (upcoming := queue.next()) is not None:
            url, depth = upcoming
            fetched = self._sitemap(url)
            if fetched is None:
                return  # the pages will say why
            urls = queue.took(fetched, depth)
            self._log.info("%s names %s pages and %s sitemaps", url, len(urls), len(fetched.found.sitemaps))
            if fetched.found.problem:
                self._log.warning("%s %s", url, fetched.found.problem)
            self._delivery.deliver_sitemap(told(fetched, urls))
            if fetched.retry_after_ms is not None:
                return

    def _sitemap(self, url: str) -> SitemapFetch | None:
        """One sitemap under one lease, as a capture would be. None: the host rests too long."""
        while True:
            with self._gate.lease() as lease:
                if too_long(lease.wait_ms, self._facts.max_host_delay_ms, ""):
                    return None
                try:
                    self._stop.sleep(wait_before_ms(self._wait_ms(), lease.wait_ms))
                    lease.assure()
                except LeaseLost as lost:
                    self._log.warning("%s: %s; asked for again", self._plan.host, lost)
                    continue
                lease.visited = True
                fetched = read_sitemap(url, self._stop)
                self._since_finish = Stopwatch()
                self._rest_ms = 0
                if fetched.retry_after_ms is not None:
                    self._rest_ms = rest_ms(self._plan.delay_ms, fetched.retry_after_ms)
                lease.retry_after_ms = self._rest_ms or None
                return fetched

    # --- after a page

    def _why_end(self) -> str | None:
        """Why the rest of the host is not visited, or None."""
        if self._streak.unreachable:
            return HOST_UNREACHABLE
        return self._rests_too_long or too_long(self._rest_ms, self._facts.max_host_delay_ms, "Retry-After")

    def _skip(self, pages: Sequence[PageWork], reason: str) -> None:
        if pages:
            self._deliver([skipped(page, reason) for page in pages])

    def _deliver(self, results: Sequence[PageResult]) -> None:
        for result in results:
            said = result.skip_reason or result.reason
            self._log.info("%s %s%s", result.status, result.url, f": {said}" if said else "")
        self._delivery.deliver(results)
        for result in results:
            self._counts[result.status] += 1

    def _summary(self) -> HostSummary:
        pending = len(self._plan.pages) - sum(self._counts.values())
        return HostSummary(host=self._plan.host, pending=pending, **self._counts)
