"""A list of targets as people keep it: one URL a line, or CSV with labels. Pure: text in, targets out."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from comity.cli.errors import BadInput
from comity.contract.ledger import AddTargets, NewTarget
from ledger.rules.scope import frontier_url

MAX_TARGETS = 10_000
"""What one call takes: more could not be added all or none."""
NAMED_PROBLEMS = 5
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class _Row:
    """What stands in one line."""

    line: int
    url: str
    labels: list[str]


def read_targets(text: str, name: str, *, as_csv: bool, labels: list[str]) -> AddTargets:
    """The request for all targets of the text. `name` is how the file is called in what is said about it.

    Empty lines and lines that begin with `#` are skipped. In CSV the first cell is the URL and every other one holds
    labels, several of them separated by `;`; a first row that begins with `url` is a header. `labels` go to all. Raises
    BadInput naming each line that is wrong, the first few of them in words; then none is meant.
    """
    rows = list(_csv_rows(text, name) if as_csv else _plain_rows(text))
    problems = [(row.line, problem) for row in rows if (problem := _problem(row)) is not None]
    if problems:
        named = [f"{name}:{line}: {problem}" for line, problem in problems[:NAMED_PROBLEMS]]
        more = len(problems) - len(named)
        raise BadInput("; ".join(named) + (f"; and {more} more lines" if more else "") + "; nothing was added")
    if not rows:
        raise BadInput(f"{name}: has no URL in it")
    if len(rows) > MAX_TARGETS:
        raise BadInput(f"{name}: has {len(rows)} URLs; {MAX_TARGETS} go in one file, split it")
    return _request(rows, name, labels)


def _request(rows: list[_Row], name: str, labels: list[str]) -> AddTargets:
    try:
        return AddTargets(targets=[NewTarget(url=row.url, labels=row.labels) for row in rows], labels=labels)
    except ValidationError as error:  # the labels of each row were looked at before
        raise BadInput(f"{name}: --label: {error.errors()[0]['msg']}") from None


def _plain_rows(text: str) -> Iterator[_Row]:
    for number, line in enumerate(text.splitlines(), start=1):
        url = line.strip()
        if url and not url.startswith("#"):
            yield _Row(number, url, [])


def _csv_rows(text: str, name: str) -> Iterator[_Row]:
    reader = csv.reader(text.splitlines(keepends=True), skipinitialspace=True, strict=True)
    first = True
    try:
        for cells in reader:
            url = cells[0].strip() if cells else ""
            if not any(cell.strip() for cell in cells) or url.startswith("#"):
                continue
            header, first = first and url.lower() == "url", False
            if not header:
                parts = [part.strip() for cell in cells[1:] for part in cell.split(";")]
                yield _Row(reader.line_num, url, list(dict.fromkeys(part for part in parts if part)))
    except csv.Error as error:
        raise BadInput(f"{name}:{reader.line_num}: not CSV: {error}; nothing was added") from None


def _problem(row: _Row) -> str | None:
    try:
        frontier_url(row.url)
        NewTarget(url=row.url, labels=row.labels)
    except ValidationError as error:
        return f"labels: {error.errors()[0]['msg']}"
    except ValueError as error:
        shown = row.url if len(row.url) <= _SHOWN_CHARACTERS else f"{row.url[:_SHOWN_CHARACTERS]}…"
        return f"{shown!r}: {error}"
    return None
