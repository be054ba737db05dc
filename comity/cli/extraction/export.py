"""`comity extract export`: what a crawl's extractors gave, as JSON Lines, CSV or Parquet.

CSV and Parquet have a line for each page, or for each row of one collection. Columns that begin with `_` tell of the
page; no member of a program is called so. Those of the program follow, typed in Parquet by the program's types.
"""

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from comity.cli.errors import BadInput, CliError
from comity.cli.extraction.writing import cell_of, lines_of, members_of
from comity.contract.extraction import PinnedExtractor, PinnedExtractors
from comity.extract import Extractor, read_program
from comity.extract.ir.program import OutputMember

KINDS = ("jsonl", "csv", "parquet")
PAGE_COLUMNS = (
    ("_page_id", "pageId"),
    ("_url", "url"),
    ("_final_url", "finalUrl"),
    ("_depth", "depth"),
    ("_captured_at", "capturedAt"),
    ("_version", "version"),
    ("_partial", "partial"),
)
ERROR_COLUMNS = ("_error_code", "_error_message")
ROWS_AT_ONCE = 500

Line = dict[str, Any]


class TableWriter(Protocol):
    """Takes lines by the names of their columns, and is ended once."""

    def write(self, line: Line) -> None: ...

    def end(self) -> None: ...


def chosen(pinned: PinnedExtractors, crawl_id: str, ident: str | None, kind: str) -> PinnedExtractor | None:
    """The extractor to export; None: all, which JSON Lines can hold. Raises BadInput."""
    ids = [one.id for one in pinned.extractors]
    if not ids:
        raise BadInput(f"crawl {crawl_id} pinned no extractor; `comity crawl --extractor` does")
    if ident is not None:
        found = next((one for one in pinned.extractors if one.id == ident), None)
        if found is None:
            raise BadInput(f"--extractor {ident}: the crawl pinned {', '.join(ids)}")
        return found
    if kind != "jsonl" and len(ids) > 1:
        raise BadInput(f"--extractor: {kind} has the columns of one extractor; choose {' or '.join(ids)}")
    return pinned.extractors[0] if len(ids) == 1 else None


def program_of(pinned: PinnedExtractor) -> Extractor:
    """The program that the crawl ran. Raises CliError where this version cannot read it."""
    read = read_program(pinned.program)
    if read.program is None:
        raise CliError(f"{pinned.id}: this version of comity cannot read its program: {'; '.join(read.faults[:3])}")
    return read.program


def export_lines(texts: Iterable[bytes], target: Path | None) -> int:
    """JSON Lines as they come; how many."""
    count = 0
    with _opened(target) as to:
        for text in texts:
            to.write(text + b"\n")
            count += 1
    return count


def export_table(texts: Iterable[bytes], program: Extractor, kind: str, rows: str | None, target: Path | None) -> int:
    """A CSV or Parquet table; how many pages. Raises BadInput for a collection that the program has not."""
    steps = rows.split(".") if rows else []
    members = list(members_of(program.output, steps))
    count = 0
    with _opened(target) as to:
        writer: TableWriter = _CsvTable(to, members) if kind == "csv" else _parquet(to, members)
        for text in texts:
            count += 1
            for line in _table_lines(json.loads(text), steps):
                writer.write(line)
        writer.end()
    return count


def _table_lines(view: Line, steps: list[str]) -> Iterator[Line]:
    """The page's line, or one for each row of the collection. A page that failed has one line, which says why."""
    about = {name: view.get(key) for name, key in PAGE_COLUMNS}
    error = view.get("error")
    if error is not None:
        yield {**about, "_error_code": error["code"], "_error_message": error["message"]}
        return
    for line in lines_of(view["value"], steps):
        yield {**about, **line}


class _CsvTable:
    """RFC 4180, UTF-8. Null is an empty cell; lists, objects and other collections are JSON in a cell."""

    def __init__(self, to: IO[bytes], members: Sequence[tuple[str, OutputMember]]) -> None:
        self._names = [*(name for name, _ in PAGE_COLUMNS), *(name for name, _ in members), *ERROR_COLUMNS]
        self._text = io.TextIOWrapper(to, encoding="utf-8", newline="")
        self._csv = csv.writer(self._text)
        self._csv.writerow(self._names)

    def write(self, line: Line) -> None:
        self._csv.writerow([cell_of(line.get(name)) for name in self._names])

    def end(self) -> None:
        self._text.detach()  # flushed, and left open: it may be standard output


def _parquet(to: IO[bytes], members: Sequence[tuple[str, OutputMember]]) -> TableWriter:
    from comity.cli.extraction.parquet import ParquetTable  # a second to load, and 100 MB

    return ParquetTable(to, members)


@contextmanager
def _opened(target: Path | None) -> Iterator[IO[bytes]]:
    """The file, which has its name only when it is whole; or standard output. Raises BadInput, CliError."""
    if target is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if target.exists():
        raise BadInput(f"--output {target}: exists; name another file")
    begun = target.with_name(target.name + ".part")
    try:
        with begun.open("wb") as to:
            yield to
        begun.rename(target)
    except OSError as error:
        raise CliError(f"{target}: cannot be written ({error.strerror})") from None
    finally:
        begun.unlink(missing_ok=True)
