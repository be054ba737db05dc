"""What a crawl's extractors give for its captured pages: order -> read -> extract -> report, until nothing waits.

No page is visited: the HTML comes from the ledger, which has the captures. The ledger starts this flow after a level
is closed and starts it again where it died; whatever becomes of it, the crawl is as it was.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from blocks.clients.errors import ServiceRefused
from blocks.clients.ledger import LedgerClient
from blocks.load import load_ledger
from comity.contract.extraction import (
    MAX_HTML_BYTES,
    PAGE_HTML_TOO_LARGE,
    PAGE_HTML_UNREADABLE,
    ExtractionResult,
    OrderExtractions,
    PageToExtract,
    ReportExtractions,
)
from flows.delivery import Log, insist
from flows.errors import StepFailed, Stopped
from flows.extraction_process import ExtractionProcess
from flows.level_steps import step
from flows.rules.extraction import Gave, due, failure, result_of
from flows.rules.pacing import Pacing
from flows.stop import StopSignal, Stopwatch

AnswerT = TypeVar("AnswerT")
PACING = Pacing()
NOT_OURS = (404, 409)
"""The crawl is gone, or another run is at its work."""


def run_name() -> str:
    """Crawl and number."""
    named = flow_run.get_parameters() or {}
    return f"{named.get('crawl_id')} extraction {named.get('number')}"


@flow(name="extract-pages", flow_run_name=run_name, retries=0, persist_result=False)
def extract_pages(crawl_id: str, number: int) -> State[Any]:
    """Run a crawl's extractors over its captured pages. Started by the ledger; no page is visited.

    Args:
        crawl_id: The crawl, as the ledger names it.
        number: Counts the runs of this crawl's extraction. A run that is not the current one ends at once.
    """
    try:
        with step("blocks"):
            ledger = load_ledger().client()
        with ledger:
            return _Run(ledger, crawl_id, number, str(flow_run.get_id() or "")).through()
    except Stopped as stopped:
        return Completed(name="Stale", message=f"nothing more is wanted of this run: {stopped}")
    except StepFailed as error:
        if error.unexpected:
            get_run_logger().error("a fault of this program", exc_info=error.__cause__)
        return Failed(message=str(error))


@dataclass
class _Run:
    """One run at its work. `in_hand` are results that the ledger has not got yet."""

    ledger: LedgerClient
    crawl_id: str
    number: int
    run_id: str
    log: Log = field(default_factory=get_run_logger)
    in_hand: list[ExtractionResult] = field(default_factory=list)
    in_hand_bytes: int = 0
    told: Stopwatch = field(default_factory=Stopwatch)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def through(self) -> State[Any]:
        """Until the ledger has no more pages. Raises StepFailed; Stopped where this run is not wanted any more."""
        with step("programs"):
            pinned = self._insist(lambda: self.ledger.pinned_extractors(self.crawl_id), "the question for programs was")
        programs = {one.id: one.program for one in pinned.extractors}
        with step("extract"), ExtractionProcess(programs) as process:
            while pages := self._order():
                for page in pages:
                    for ident, gave in self._page(process, page):
                        self._keep(page, ident, gave)
                self._tell()
        return self._said()

    def _order(self) -> list[PageToExtract]:
        wanted = OrderExtractions(number=self.number, run_id=self.run_id)
        order = self._insist(lambda: self.ledger.order_extractions(self.crawl_id, wanted), "the order was")
        self.told = Stopwatch()
        return order.pages

    def _page(self, process: ExtractionProcess, page: PageToExtract) -> Iterator[tuple[str, Gave]]:
        html = self._html(page)
        if isinstance(html, Gave):
            for ident in page.extractors:
                yield ident, html
        else:
            yield from process.extract(html, page.extractors)

    def _html(self, page: PageToExtract) -> bytes | Gave:
        try:
            html = insist(
                lambda: self.ledger.page_html(self.crawl_id, page.page_id, max_bytes=MAX_HTML_BYTES),
                f"the question for the HTML of {page.url} was",
                stop=StopSignal(),
                budget_ms=PACING.result_budget_ms,
                retry_ms=PACING.result_retry_ms,
            )
        except ServiceRefused as refusal:
            if refusal.status not in NOT_OURS:
                raise
            return failure(PAGE_HTML_UNREADABLE, refusal.message)
        if html is None:
            return failure(PAGE_HTML_TOO_LARGE, f"the page has over {MAX_HTML_BYTES} bytes of HTML")
        return html

    def _keep(self, page: PageToExtract, ident: str, gave: Gave) -> None:
        result = result_of(page.page_id, ident, gave)
        self.outcomes[ident, "extracted" if result.error is None else "failed"] += 1
        if result.error is not None:
            self.log.warning("%s gave nothing for %s: %s %s", ident, page.url, result.error.code, result.error.message)
        self.in_hand.append(result)
        self.in_hand_bytes += len(result.model_dump_json(by_alias=True).encode())
        if due(len(self.in_hand), self.in_hand_bytes, self.told.elapsed_ms):
            self._tell()

    def _tell(self) -> None:
        report = ReportExtractions(number=self.number, run_id=self.run_id, results=self.in_hand)
        taken = self._insist(lambda: self.ledger.report_extractions(self.crawl_id, report), "results were")
        self.in_hand, self.in_hand_bytes, self.told = [], 0, Stopwatch()
        if taken.stop:
            raise Stopped(taken.reason or "the ledger gave no reason")

    def _insist(self, call: Callable[[], AnswerT], what: str) -> AnswerT:
        """`call` until the ledger takes it. Raises Stopped where it says that this run is not the crawl's."""
        try:
            return insist(
                call,
                what,
                stop=StopSignal(),
                budget_ms=PACING.result_budget_ms,
                retry_ms=PACING.result_retry_ms,
            )
        except ServiceRefused as refusal:
            if refusal.status in NOT_OURS:
                raise Stopped(refusal.message) from None
            raise

    def _said(self) -> State[Any]:
        idents = sorted({ident for ident, _ in self.outcomes})
        counts = [(one, self.outcomes[one, "extracted"], self.outcomes[one, "failed"]) for one in idents]
        rows: list[dict[str, Any]] = [
            {"extractor": ident, "extracted": good, "failed": bad} for ident, good, bad in counts
        ]
        extracted, failed = sum(good for _, good, _ in counts), sum(bad for *_, bad in counts)
        title = f"Crawl {self.crawl_id}, extraction {self.number}: {extracted} extracted, {failed} failed"
        try:
            create_table_artifact(
                table=rows, key=f"extraction-{self.crawl_id}-{self.number}".lower(), description=title
            )
        except Exception as error:  # it is a picture of the results, not the results
            self.log.warning("the table could not be written: %s", error)
        return Completed(message=title)
