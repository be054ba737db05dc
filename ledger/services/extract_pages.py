"""Extraction over captured pages, as its flow runs and its readers call it."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Literal

from comity.contract.extraction import (
    MAX_VALUE_BYTES,
    ExtractionOrder,
    ExtractionResult,
    ExtractionsTaken,
    ExtractorPin,
    OrderExtractions,
    PageToExtract,
    PinnedExtractor,
    PinnedExtractors,
    ReportExtractions,
)
from comity.contract.ledger import ErrorField
from comity.contract.wire import rfc3339
from ledger import log, metrics
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.place import Away, NotRead
from ledger.clock import Clock
from ledger.errors import ArtifactsAway, BadInput, StaleRun, Unknown, WrongState
from ledger.rules import extraction_runs as rules
from ledger.services.archives import OpenArchive, file_name
from ledger.services.extraction_runs import DONE
from ledger.services.want_extractions import html_of
from ledger.store import crawls, extractions, extractors, pages
from ledger.store import extraction_runs as runs
from ledger.store.database import Store, Tx
from ledger.store.extractions import Listed
from ledger.store.models_extraction import CrawlExtractor, Extraction, ExtractionRun

PAIRS_PER_ORDER = 200
BATCH_ROWS = 200
BATCH_BYTES = 1024 * 1024
MAX_LIST_BYTES = 8 * 1024 * 1024
"""A page of the list ends early where its values are large."""
NO_WARNINGS = "[]"


@dataclass(frozen=True)
class Asked:
    """What a reader wants to see of a crawl's extractions. `after` is a cursor of ours, `limit` of one page alone."""

    extractor: str | None = None
    state: Literal["extracted", "failed"] | None = None
    after: str | None = None
    limit: int = 100


@dataclass(frozen=True)
class _Line:
    """One extraction as JSON, and where it stands in the list."""

    text: str
    at: tuple[int, int]


class ExtractionService:
    """`organizations`: whose crawls are in view, None everybody's."""

    def __init__(self, store: Store, artifacts: Artifacts, clock: Clock) -> None:
        self._store = store
        self._artifacts = artifacts
        self._clock = clock

    # --- for flow runs

    def pinned(self, crawl_id: str, organizations: Sequence[str] | None = None) -> PinnedExtractors:
        """What the crawl runs, with the programs. Raises Unknown."""
        with self._store.reading() as tx:
            self._require(tx, crawl_id, organizations)
            pins = extractors.pinned(tx, [crawl_id], with_program=True).get(crawl_id, [])
        return PinnedExtractors(
            extractors=[PinnedExtractor(**dict(pin_view(pin)), name=pin.name, program=pin.program) for pin in pins]
        )

    def html(self, crawl_id: str, page_id: str, organizations: Sequence[str] | None = None) -> OpenArchive:
        """A captured page's HTML, open. Raises Unknown; WrongState where it is gone; ArtifactsAway."""
        with self._store.reading() as tx:
            self._require(tx, crawl_id, organizations)
            page = pages.by_id(tx, crawl_id, [page_id]).get(page_id)
        location = html_of(page) if page is not None else None
        if location is None:
            raise Unknown("page with HTML", page_id)
        try:
            return OpenArchive(file_name(location), self._artifacts.stat(location), self._artifacts.open(location))
        except Away as error:
            raise ArtifactsAway(str(error)) from None
        except NotRead as error:
            raise WrongState(f"the HTML cannot be read: {error}") from None

    def order(self, crawl_id: str, order: OrderExtractions) -> ExtractionOrder:
        """The next pages; none of them ends the run. The first flow run that asks holds the work.

        Raises Unknown, and StaleRun for a run that is not the crawl's any more.
        """
        now = self._clock()
        with self._store.writing() as tx:
            run, stale = self._run(tx, crawl_id, order)
            if run is None or stale is not None:
                raise StaleRun(f"this extraction needs no run: {stale}")
            runs.hear(tx, run, run_id=order.run_id, at=now)
            waiting = _whole_pages(extractions.pending(tx, crawl_id, PAIRS_PER_ORDER))
            ids = {pin.place: pin.extractor_id for pin in extractors.pinned(tx, [crawl_id]).get(crawl_id, [])}
            if not waiting:
                runs.end(tx, run, how=DONE, at=now)
                log.event("extraction_done", crawl_id=crawl_id, number=run.number)
            return ExtractionOrder(
                crawl_id=crawl_id,
                pages=[
                    PageToExtract(
                        page_id=page.id, url=page.final_url or page.url, extractors=[ids[at] for at in places]
                    )
                    for page, places in waiting
                ],
            )

    def take(self, crawl_id: str, report: ReportExtractions) -> ExtractionsTaken:
        """Keep results; none of them is a sign of life. A pair that has its result keeps it.

        What a run tells that is not the crawl's any more is kept too: the same program gave it for the same page.
        Raises Unknown, and BadInput for pairs that the crawl has not.
        """
        now = self._clock()
        with self._store.writing() as tx:
            run, stale = self._run(tx, crawl_id, report)
            kept = self._keep(tx, crawl_id, report.results, now)
            if run is not None and stale is None:
                runs.hear(tx, run, run_id=report.run_id, at=now, result=bool(kept))
        for outcome in (extractions.EXTRACTED, extractions.FAILED):
            metrics.extractions(outcome, sum(row.state == outcome for row in kept))
        if kept:
            log.event("extractions_taken", crawl_id=crawl_id, number=report.number, count=len(kept))
        return ExtractionsTaken(stop=stale is not None, reason=stale)

    def _run(
        self, tx: Tx, crawl_id: str, fence: OrderExtractions | ReportExtractions
    ) -> tuple[ExtractionRun | None, str | None]:
        """The crawl's open run, and why the caller is not it. The crawl's row is locked. Raises Unknown."""
        if crawls.get_to_change(tx, crawl_id) is None:
            raise Unknown("crawl", crawl_id)
        run = runs.current(tx, crawl_id)
        held = rules.OpenRun(run.number, run.run_id) if run is not None else None
        return run, rules.why_stale(held, number=fence.number, run_id=fence.run_id)

    def _keep(self, tx: Tx, crawl_id: str, results: Sequence[ExtractionResult], now: datetime) -> list[Extraction]:
        """The rows that got their result just now. Raises BadInput, before any is written."""
        places = {pin.extractor_id: pin.place for pin in extractors.pinned(tx, [crawl_id]).get(crawl_id, [])}
        rows = extractions.of_pages(tx, crawl_id, (one.page_id for one in results))
        matched: list[tuple[Extraction, ExtractionResult, str]] = []
        problems: list[ErrorField] = []
        for place, one in enumerate(results):
            row = rows.get((one.page_id, places.get(one.extractor, -1)))
            value = _compact(one.value)
            if row is None:
                problems.append(ErrorField(field=f"results.{place}", message="the crawl has no such page to extract"))
            elif len(value.encode()) > MAX_VALUE_BYTES:
                problems.append(ErrorField(field=f"results.{place}.value", message=f"is over {MAX_VALUE_BYTES} bytes"))
            else:
                matched.append((row, one, value))
        if problems:
            raise BadInput(problems[:20])
        kept = []
        for row, one, value in matched:
            if row.state != extractions.PENDING:
                continue
            warnings = _compact([warning.to_wire() for warning in one.warnings])
            if one.error is None:
                extractions.extracted(row, value=value, warnings=warnings, partial=one.partial, at=now)
            else:
                told = one.error
                extractions.failed(row, code=told.code, message=told.message, path=told.path, warnings=warnings, at=now)
            kept.append(row)
        return kept

    # --- for readers

    def listed(self, crawl_id: str, asked: Asked, organizations: Sequence[str] | None = None) -> bytes:
        """An `ExtractionList` as JSON. Raises Unknown; BadInput for a cursor that is none of ours."""
        with self._store.reading() as tx:
            self._require(tx, crawl_id, organizations)
        lines, more = self._lines(crawl_id, asked, _cursor(asked.after), rows=asked.limit, size_bytes=MAX_LIST_BYTES)
        following = f',"next":"{_cursor_of(lines[-1].at)}"' if more and lines else ""
        return f'{{"extractions":[{",".join(line.text for line in lines)}]{following}}}'.encode()

    def every(self, crawl_id: str, asked: Asked, organizations: Sequence[str] | None = None) -> Iterator[bytes]:
        """All of them as JSON lines, a batch at a time, each read in a transaction of its own.

        Raises Unknown and BadInput at once, not when the first batch is taken.
        """
        after = _cursor(asked.after)
        with self._store.reading() as tx:
            self._require(tx, crawl_id, organizations)
        return self._batches(crawl_id, asked, after)

    def _batches(self, crawl_id: str, asked: Asked, after: tuple[int, int] | None) -> Iterator[bytes]:
        more = True
        while more:
            lines, more = self._lines(crawl_id, asked, after, rows=BATCH_ROWS, size_bytes=BATCH_BYTES)
            if lines:
                after = lines[-1].at
                yield "".join(f"{line.text}\n" for line in lines).encode()

    def _lines(
        self, crawl_id: str, asked: Asked, after: tuple[int, int] | None, *, rows: int, size_bytes: int
    ) -> tuple[list[_Line], bool]:
        """So many rows, or what fits into so many bytes (one row always does); and whether more follow."""
        lines: list[_Line] = []
        size = 0
        with (
            self._store.reading() as tx,
            extractions.listed(
                tx, crawl_id, after=after, extractor=asked.extractor, state=asked.state, limit=rows + 1
            ) as found,
        ):
            for one in found:
                if len(lines) == rows or size >= size_bytes:
                    return lines, True
                line = _line(one)
                size += len(line.text)
                lines.append(line)
        return lines, False

    def _require(self, tx: Tx, crawl_id: str, organizations: Sequence[str] | None) -> None:
        if crawls.get(tx, crawl_id, organizations) is None:
            raise Unknown("crawl", crawl_id)


def pin_view(pin: CrawlExtractor) -> ExtractorPin:
    """Which extractor, over which pages."""
    return ExtractorPin(id=pin.extractor_id, version=pin.version, sha256=pin.sha256, url_pattern=pin.url_pattern)


def _whole_pages(rows: list[tuple[Extraction, Any]]) -> list[tuple[Any, list[int]]]:
    """Pages with the places of all that waits for them. A page that the limit cut in two is left to the next order."""
    grouped = [(pair[0][1], [row.place for row, _ in pair]) for pair in _by_page(rows)]
    return grouped[:-1] if len(rows) == PAIRS_PER_ORDER and len(grouped) > 1 else grouped


def _by_page(rows: list[tuple[Extraction, Any]]) -> Iterator[list[tuple[Extraction, Any]]]:
    for _, pairs in groupby(rows, key=lambda pair: pair[0].position):
        yield list(pairs)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _line(one: Listed) -> _Line:
    """An `ExtractionView` as JSON. Value and warnings are texts already, and are not read to be written again."""
    row, page = one.row, one.page
    assert row.extracted_at is not None
    facts: dict[str, Any] = {
        "pageId": page.id,
        "url": page.url,
        "finalUrl": page.final_url,
        "depth": page.depth,
        "capturedAt": rfc3339(page.settled_at) if page.settled_at is not None else None,
        "extractor": one.extractor.extractor_id,
        "version": one.extractor.version,
        "state": row.state,
        "partial": row.partial,
        "extractedAt": rfc3339(row.extracted_at),
    }
    if row.error_code is not None:
        error = {"code": row.error_code, "message": row.error_message or "", "path": row.error_path}
        facts["error"] = {name: said for name, said in error.items() if said is not None}
    head = _compact({name: fact for name, fact in facts.items() if fact is not None})[:-1]
    value = f',"value":{row.value}' if row.value is not None else ""
    return _Line(f'{head}{value},"warnings":{row.warnings or NO_WARNINGS}}}', (row.position, row.place))


def _cursor_of(at: tuple[int, int]) -> str:
    return base64.urlsafe_b64encode(f"{at[0]} {at[1]}".encode()).rstrip(b"=").decode()


def _cursor(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        found = re.fullmatch(
            r"([0-9]{1,9}) ([0-9]{1,9})", base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
        )
    except (ValueError, binascii.Error):
        found = None
    if found is None:
        raise BadInput.at("after", "is no cursor of this list; give the `next` of the page before")
    return int(found[1]), int(found[2])
