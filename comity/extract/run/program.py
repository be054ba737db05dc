"""A program of the scraping language, ready to run: over a page that it gets itself, or over one that is there.

Everything that the program decides is decided once, in `prepare`; a run then takes a page through it. A prepared
program is immutable and may run in several threads at once.
"""

import asyncio
import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from comity.extract.ir.json_schema import result_schema
from comity.extract.ir.program import Extractor
from comity.extract.run.execution import Execution, Path, cancelled
from comity.extract.run.failures import Failure, RunError
from comity.extract.run.inputs import resolve_inputs
from comity.extract.run.objects import ObjectMaker, ObjectReader
from comity.extract.run.options import Cancellation, ExtractOptions, RunOptions, SnapshotOptions
from comity.extract.run.page import Page
from comity.extract.run.preflight import check_browser, check_external, check_session, snapshot_refusal
from comity.extract.run.results import Result, RunWarning
from comity.extract.run.transforms import Transforms
from comity.extract.run.url_template import checked_url, expanded_url
from comity.extract.run.visits import Visit, browser_page, http_page
from comity.polite.charset import decode_html
from comity.polite.errors import CharsetError

_OUTPUT = Path("output")


class Program:
    """A validated program and the functions made of it."""

    def __init__(self, extractor: Extractor, read: ObjectReader | None, refusal: Failure | None, shared: int) -> None:
        """Not for callers: `prepare` makes programs."""
        self.extractor = extractor
        self._read = read
        self._refusal = refusal
        self._shared_queries = shared

    @classmethod
    def prepare(cls, extractor: Extractor) -> "Program | Failure":
        """The program, or why no page could ever be read with it: a selector, a pattern or a call that is wrong.

        A program with a workflow or JavaScript values is prepared too: what runs it refuses it.
        """
        refusal = snapshot_refusal(extractor)
        if refusal is not None:
            return cls(extractor, None, refusal, 0)
        maker = ObjectMaker(Transforms(extractor.transforms))
        try:
            read = maker.object_reader(extractor.output, _OUTPUT)
        except RunError as error:
            return error.as_failure()
        return cls(extractor, read, None, maker.shared_queries)

    def extract(
        self, inputs: Mapping[str, Any] | None = None, options: ExtractOptions | None = None
    ) -> Result | Failure:
        """`extract_async` for callers without an event loop. Blocking.

        Raises RuntimeError inside a running event loop, and for a `client`, which belongs to one.
        """
        if _is_in_event_loop():
            raise RuntimeError("extract() blocks the event loop that runs here: await extract_async()")
        if options is not None and options.client is not None:
            raise RuntimeError("extract() runs an event loop of its own, and a client has another: use extract_async()")
        return asyncio.run(self.extract_async(inputs, options))

    async def extract_async(
        self, inputs: Mapping[str, Any] | None = None, options: ExtractOptions | None = None
    ) -> Result | Failure:
        """Gets the program's page, with one GET or in the browser that was given, and reads it.

        What cannot work is refused before anything is sent, in this order: what the program needs of its host, the
        inputs, the session, the URL. Nothing is raised for anything that a page, a site or a program can be: see
        `Failure`. Reading goes on in a thread.
        """
        chosen = options or ExtractOptions()
        try:
            visit = self._visit(inputs or {}, chosen)
            if self.extractor.source.fetch.mode == "browser":
                text = await browser_page(visit)
            else:
                text = await http_page(visit)
            return await self._read_aside(text, chosen, visit.deadline_s)
        except CharsetError as error:
            return Failure(error.code, str(error))
        except RunError as error:
            return error.as_failure()

    @property
    def refusal(self) -> Failure | None:
        """Why this program needs more than a page that was loaded once and saved; None where it does not."""
        return self._refusal

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema (draft 2020-12) of `Result.plain()`; that of the value alone is its `#/$defs/value`."""
        return result_schema(self.extractor)

    def url(self, inputs: Mapping[str, Any] | None = None) -> str | Failure:
        """The address of the program's page for these inputs; nothing is sent."""
        try:
            values = resolve_inputs(self.extractor.inputs, inputs or {})
            return expanded_url(self.extractor.source.fetch.url_template, values)
        except RunError as error:
            return error.as_failure()

    def extract_snapshot(
        self,
        html: bytes | str,
        inputs: Mapping[str, Any] | None = None,
        options: SnapshotOptions | None = None,
    ) -> Result | Failure:
        """The program's output from a saved page: text, or bytes that are decoded as a browser would, strictly.

        No address is visited, so inputs are not needed; those that are given are checked. Nothing is raised for
        anything that a page or a program can be: see `Failure`. Blocking; Python's garbage collector rests meanwhile.
        """
        chosen = options or SnapshotOptions()
        try:
            self._check_readable()
            check_external(self.extractor, chosen.external_transforms)
            if inputs is not None:
                resolve_inputs(self.extractor.inputs, inputs)
            deadline_s = time.monotonic() + chosen.timeout_s
            text = html if isinstance(html, str) else decode_html(html, chosen.content_type)
            return self._run(text, chosen, deadline_s)
        except CharsetError as error:
            return Failure(error.code, str(error))
        except RunError as error:
            return error.as_failure()

    def _check_readable(self) -> None:
        if self._refusal is not None:
            raise RunError(self._refusal.code, self._refusal.message, self._refusal.path)

    def _visit(self, inputs: Mapping[str, Any], options: ExtractOptions) -> Visit:
        """The visit to make. Raises RunError for what can be known before it."""
        check_browser(self.extractor, options)
        self._check_readable()
        check_external(self.extractor, options.external_transforms)
        source = self.extractor.source
        values = resolve_inputs(self.extractor.inputs, inputs, all_needed=options.url is None)
        check_session(self.extractor, options)
        url = expanded_url(source.fetch.url_template, values) if options.url is None else checked_url(options.url)
        return Visit(url, source.session_policy != "none", options, time.monotonic() + options.timeout_s)

    async def _read_aside(self, text: str, options: ExtractOptions, deadline_s: float) -> Result:
        """Reads in a thread, which ends soon where nobody waits for it any more."""
        abandoned = _Abandoned(options.cancellation)
        try:
            return await asyncio.to_thread(self._run, text, replace(options, cancellation=abandoned), deadline_s)
        except asyncio.CancelledError:
            abandoned.nobody_waits = True
            raise

    def _run(self, text: str, options: RunOptions, deadline_s: float) -> Result:
        if options.cancellation is not None and options.cancellation.is_set():
            raise cancelled()
        assert self._read is not None  # programs without it have been refused
        with _without_garbage_collection():
            execution = Execution(Page(text), options, self._shared_queries, deadline_s)
            value = self._read(execution.page.root, execution)
        warnings = execution.warnings
        if execution.partial:
            message = "some errors were recovered from; the warnings before this one name those that asked for it"
            warnings = [*warnings, RunWarning("W_PARTIAL_EXTRACTION", message)]
        return Result(value, tuple(warnings), execution.partial)


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """A run makes hundreds of thousands of objects and no cycles; collecting in between doubles its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Abandoned:
    """Cancelled by the caller, or because the caller's task was."""

    __slots__ = ("_caller", "nobody_waits")

    def __init__(self, caller: Cancellation | None) -> None:
        self._caller = caller
        self.nobody_waits = False

    def is_set(self) -> bool:
        return self.nobody_waits or (self._caller is not None and self._caller.is_set())
