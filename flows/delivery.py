"""Telling the ledger, again and again until it has heard or the budget is over."""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from blocks.clients.errors import AnswerUnreadable, ServiceError, ServiceRefused
from comity.contract.ledger import PageResult, ReportResults, ResultsAnswer, SitemapRead
from flows.errors import LedgerUnavailable, Stopped
from flows.rules.facts import LevelFacts
from flows.stop import StopSignal, Stopwatch

RESULTS_PER_CALL = 1_000
Log = logging.Logger | logging.LoggerAdapter[logging.Logger]
AnswerT = TypeVar("AnswerT")


class ResultsLedger(Protocol):
    """What a delivery needs of the ledger's client."""

    def results(self, crawl_id: str, report: ReportResults) -> ResultsAnswer:
        """See `blocks.clients.ledger.LedgerClient.results`."""


def passing(error: ServiceError) -> bool:
    """Whether the same call may succeed in a moment: no answer, or one that speaks of a moment."""
    if isinstance(error, ServiceRefused):
        return error.status in (408, 425, 429, 500, 502, 503, 504)
    return not isinstance(error, AnswerUnreadable)


def insist(call: Callable[[], AnswerT], what: str, *, stop: StopSignal, budget_ms: int, retry_ms: int) -> AnswerT:
    """`call` until it succeeds. It must be safe to repeat.

    Raises LedgerUnavailable after `budget_ms`, Stopped where the level ends meanwhile (the first attempt is always
    made), and any refusal that will not pass as it came.
    """
    watch = Stopwatch()
    while True:
        try:
            return call()
        except ServiceError as error:
            if not passing(error):
                raise
            if watch.elapsed_ms + retry_ms > budget_ms:
                raise LedgerUnavailable(f"{what} not taken within {budget_ms // 1000} s: {error}") from error
        stop.sleep(retry_ms)


class Delivery:
    """Carries results to the ledger, and its `stop` back to the level."""

    def __init__(self, ledger: ResultsLedger, facts: LevelFacts, stop: StopSignal, log: Log) -> None:
        self._ledger = ledger
        self._facts = facts
        self._stop = stop
        self._log = log

    def deliver(self, results: Sequence[PageResult]) -> None:
        """Each result is with the ledger when this returns. Raises as `insist` does."""
        for start in range(0, len(results), RESULTS_PER_CALL):
            part = list(results[start : start + RESULTS_PER_CALL])
            try:
                answer = insist(
                    lambda part=part: self.tell(part),  # type: ignore[misc]
                    f"{len(part)} page result{'' if len(part) == 1 else 's'}",
                    stop=self._stop,
                    budget_ms=self._facts.pacing.result_budget_ms,
                    retry_ms=self._facts.pacing.result_retry_ms,
                )
            except Stopped:
                self._log.warning("not told to the ledger, for the level stops: %s", ", ".join(r.url for r in part))
                raise
            self.obey(answer)

    def deliver_sitemap(self, parts: Sequence[SitemapRead]) -> None:
        """What a sitemap names is with the ledger when this returns. Raises as `insist` does."""
        for part in parts:
            answer = insist(
                lambda part=part: self.tell([], [part]),  # type: ignore[misc]
                f"the sitemap {part.url}",
                stop=self._stop,
                budget_ms=self._facts.pacing.result_budget_ms,
                retry_ms=self._facts.pacing.result_retry_ms,
            )
            self.obey(answer)

    def tell(self, results: list[PageResult], sitemaps: list[SitemapRead] | None = None) -> ResultsAnswer:
        """One call; with nothing to tell it is a sign of life."""
        facts = self._facts
        report = ReportResults(
            depth=facts.depth, attempt=facts.attempt, run_id=facts.run_id, results=results, sitemaps=sitemaps
        )
        return self._ledger.results(facts.crawl_id, report)

    def obey(self, answer: ResultsAnswer) -> None:
        """Stop the level where the ledger needs no more of it."""
        if answer.stop and not self._stop.is_set:
            self._log.warning("the ledger says stop: %s", answer.reason or "no reason given")
        if answer.stop:
            self._stop.set(answer.reason or "the ledger needs no more of this run", hang_up=True)
