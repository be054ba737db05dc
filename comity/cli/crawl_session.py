"""One `comity crawl` from an empty machine to the summary: stack, start, watch, sum up, leave as found."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from types import FrameType
from typing import NoReturn

from rich.live import Live
from rich.text import Text

from blocks.clients.errors import ServiceError
from blocks.clients.ledger import LedgerClient
from comity.cli import crawl_calls, crawl_extractors, extractor_calls
from comity.cli.allowance import Allowance, check_running
from comity.cli.audit_view import audits_of
from comity.cli.console import output, progress_output
from comity.cli.data_folder import DataFolder
from comity.cli.errors import StackError
from comity.cli.extractor_files import ExtractorFile
from comity.cli.lanes import Lanes
from comity.cli.ledger_access import operator_client
from comity.cli.progress import Progress, progress_line, progress_of, render_progress
from comity.cli.stack.remote import READY_BUDGET_S, StartedStack, known_addresses
from comity.cli.stack.state import StackState, is_held, running_stack
from comity.cli.stack.voice import LOGIN_HINT, part_line
from comity.cli.summary import as_json, render_summary, replay_hint, summarize
from comity.contract.audit import HostAudit
from comity.contract.extraction import ExtractionProgress, ExtractionView
from comity.contract.ledger import CrawlView, PageView, StartCrawl

PLAIN_LINE_EVERY_S = 5.0
INTERRUPTED = 130


class CrawlSession:
    """Progress goes to standard error, the summary (or its JSON) to standard output."""

    def __init__(self, data: DataFolder, *, browsers: int, allowed: Allowance, keep: bool, as_json: bool) -> None:
        self._data = data
        self._browsers = browsers
        self._allowed = allowed
        self._keep = keep
        self._as_json = as_json
        self._console = progress_output()
        self._started: StartedStack | None = None
        self._told_of_extraction = ""

    @property
    def _ends_stack(self) -> bool:
        return self._started is not None and not self._keep

    def run(self, request: StartCrawl, *, files: Sequence[ExtractorFile] = ()) -> int:
        """The exit status. `files` are extractors that go into the catalogue before the crawl begins.

        Raises CliError and ServiceError for what went wrong; the stack is left as found."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _interrupt)
        try:
            stack = self._stack()
            check_running(request.seeds or [], self._allowed, stack.allow_private, self._data.root)
            with operator_client(self._data, stack) as ledger:
                return self._crawl(ledger, crawl_extractors.with_files(ledger, request, files), stack)
        except KeyboardInterrupt:
            self._say("interrupted")
            return INTERRUPTED
        finally:
            self._leave()

    def _crawl(self, ledger: LedgerClient, request: StartCrawl, stack: StackState) -> int:
        crawl_id = crawl_calls.start(ledger, request, datetime.fromisoformat(stack.started_at), self._say)
        at = stack.addresses
        self._say(f"crawl {crawl_id} started; Prefect {at['prefectUi']}, ledger {at['ledger']}")
        interrupted = False
        try:
            crawl = self._watch(ledger, crawl_id)
        except KeyboardInterrupt:
            interrupted = True
            self._say(f"cancelling crawl {crawl_id}")
            crawl = crawl_calls.cancel(ledger, crawl_id)
        except ServiceError:
            if self._ends_stack:  # nobody will be there to finish it
                with suppress(ServiceError):
                    ledger.cancel(crawl_id)
            raise
        if request.extractors and not interrupted:
            interrupted = not self._extracted(ledger, crawl_id)
        crawl, pages = crawl_calls.look(ledger, crawl_id, stack_lives=self._stack_lives)
        results = crawl_extractors.first_results(ledger, crawl_id) if request.extractors else []
        self._sum_up(crawl, pages, list(audits_of(ledger, crawl_id)), results, stack)
        if interrupted:
            return INTERRUPTED
        return 0 if crawl.state == "succeeded" else 1

    def _extracted(self, ledger: LedgerClient, crawl_id: str) -> bool:
        """Wait for what is extracted from the captured pages, which needs no visit. False where a person did not."""
        try:
            extractor_calls.wait(ledger, crawl_id, self._progress_of_extraction)
        except KeyboardInterrupt:
            self._say("the extraction is not waited for")
            return False
        return True

    def _progress_of_extraction(self, progress: ExtractionProgress) -> None:
        line = f"extraction {progress.state}: {crawl_extractors.told(progress)}"
        if line != self._told_of_extraction:
            self._told_of_extraction = line
            self._say(line)

    # --- the stack

    def _stack(self) -> StackState:
        """The one that runs, or one that is started now."""
        if is_held(self._data):
            return self._wait_for_others_stack()
        self._started = StartedStack(self._data, self._browsers, self._allowed, keep=self._keep)
        self._say(f"starting the stack in {self._data.root}")
        told: set[str] = set()

        def observe(state: StackState) -> None:
            for name, part in state.parts.items():
                line = part_line(name, part)
                if line and line not in told:
                    told.add(line)
                    self._say(line)

        try:
            return self._started.wait_ready(observe)
        except (StackError, KeyboardInterrupt):
            self._keep = False  # a stack that never got ready is of no use to anybody
            raise

    def _wait_for_others_stack(self) -> StackState:
        deadline_s = time.monotonic() + READY_BUDGET_S
        while time.monotonic() < deadline_s:
            state = running_stack(self._data)
            if state is not None and state.ready:
                return state
            if not is_held(self._data):
                raise StackError(f"the stack on {self._data.root} ended while it was waited for; try again")
            time.sleep(0.2)
        said = f"the stack on {self._data.root} is not ready after {READY_BUDGET_S:.0f} s"
        raise StackError(f"{said}: see `comity status`")

    def _stack_lives(self) -> bool:
        return is_held(self._data)

    def _leave(self) -> None:
        if self._started is not None and not self._keep:
            self._say("ending the stack")
            # A further Ctrl-C must not leave it half ended; it has a budget of its own.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            self._started.end()

    # --- what is shown

    def _watch(self, ledger: LedgerClient, crawl_id: str) -> CrawlView:
        """Until the crawl is over. Shows where it is, live on a terminal, else a line now and then."""
        live = Live(console=self._console, auto_refresh=False, transient=True) if self._console.is_terminal else None
        lines = _PlainLines(self._say)
        lanes = Lanes(known_addresses(self._data).prefect)
        with lanes, live or nullcontext():
            while True:
                crawl, pages = crawl_calls.look(ledger, crawl_id, stack_lives=self._stack_lives)
                picture = progress_of(crawl, pages, lanes.of(crawl), datetime.now(UTC))
                if live is not None:
                    live.update(render_progress(picture), refresh=True)
                else:
                    lines.show(picture)
                if crawl.state != "running":
                    return crawl
                time.sleep(crawl_calls.POLL_S)

    def _sum_up(
        self,
        crawl: CrawlView,
        pages: list[PageView],
        audits: list[HostAudit],
        results: list[ExtractionView],
        stack: StackState,
    ) -> None:
        summary = summarize(crawl, pages, audits)
        if self._as_json:
            extractions = {"extractions": crawl_extractors.as_json(results)} if crawl.extraction is not None else {}
            print(json.dumps(as_json(summary, stack.addresses) | extractions), flush=True)
            return
        again = f"at these addresses again with: comity up --data {self._data.root}; " if self._ends_stack else ""
        hints = [again + LOGIN_HINT, *replay_hint(summary, self._data.root, stack_stays=not self._ends_stack)]
        console = output()
        console.print()
        console.print(render_summary(summary, stack.addresses, hint="\n".join(hints)))
        if crawl.extraction is not None:
            console.print()
            hint = crawl_extractors.export_hint(crawl.id, self._data.root, stack_stays=not self._ends_stack)
            why = crawl_extractors.unmatched(crawl.extraction, crawl.extractors, summary.captured)
            console.print(crawl_extractors.render(crawl.extraction, results, hint, why_none=why), soft_wrap=True)

    def _say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)


class _PlainLines:
    """Progress for a log file: when something changed, and not more often than every few seconds."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = ""
        self._next_s = 0.0

    def show(self, picture: Progress) -> None:
        line = progress_line(picture)
        over = picture.state != "running"
        if line != self._last and (over or time.monotonic() >= self._next_s):
            self._last, self._next_s = line, time.monotonic() + PLAIN_LINE_EVERY_S
            self._say(line)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM ends a crawl as Ctrl-C does; and Ctrl-C does so where a script's shell made us ignore it."""
    raise KeyboardInterrupt
