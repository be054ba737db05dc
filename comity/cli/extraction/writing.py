"""What came of pages, for programs: one JSON document, JSON Lines, or CSV."""

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TextIO

from comity.cli.errors import BadInput
from comity.cli.extraction.inputs import Job
from comity.cli.extraction.politeness import Outcome
from comity.extract import Extractor, Failure, Result
from comity.extract.ir.canonical import plain_decimal
from comity.extract.ir.program import OutputCollection, OutputMember, OutputObject

ERROR_COLUMNS = ("error_code", "error_message")


def plain_outcome(found: Result | Failure) -> dict[str, Any]:
    """`{value, warnings, partial}`, or `{error: {code, message, path?}}`."""
    if isinstance(found, Result):
        return found.plain()
    error = {"code": found.code, "message": found.message}
    return {"error": error if found.path is None else error | {"path": found.path}}


class Writer(ABC):
    """Takes outcomes in the order of their jobs, and is ended once."""

    def __init__(self, to: TextIO) -> None:
        self.to = to

    @abstractmethod
    def write(self, outcome: Outcome) -> None: ...

    def end(self) -> None:
        self.to.flush()

    def line(self, text: str) -> None:
        self.to.write(text + "\n")
        self.to.flush()  # who reads a pipe has each row as soon as it is there


class JsonLines(Writer):
    """One object a line."""

    def write(self, outcome: Outcome) -> None:
        self.line(json.dumps(_numbered(outcome), ensure_ascii=False))


class JsonArray(Writer):
    """One array of objects, each on a line of its own."""

    _begun = False

    def write(self, outcome: Outcome) -> None:
        # The comma stands before and not behind: each line is whole, whatever is told on the same terminal after it.
        self.line(("," if self._begun else "[\n") + json.dumps(_numbered(outcome), ensure_ascii=False))
        self._begun = True

    def end(self) -> None:
        self.line("]" if self._begun else "[]")


class Csv(Writer):
    """A line for each page, or for each row of the collection `rows` (`shelves.books` for nested ones).

    Scalars are cells, null is an empty one; lists, objects and other collections are JSON in a cell. Inputs stand
    before fields, the error of a page that failed behind them. Raises BadInput where there is no such collection.
    """

    def __init__(self, to: TextIO, extractor: Extractor, rows: str | None) -> None:
        super().__init__(to)
        self._inputs = [one.name for one in extractor.inputs]
        self._steps = rows.split(".") if rows else []
        self._names = [name for name, _ in members_of(extractor.output, self._steps)]
        self._csv = csv.writer(to, lineterminator="\n")
        self._csv.writerow(["page", "url", *self._inputs, *self._names, *ERROR_COLUMNS])

    def write(self, outcome: Outcome) -> None:
        job, found = outcome.job, outcome.found
        before = [job.number, job.url, *(cell_of(job.inputs.get(name)) for name in self._inputs)]
        if isinstance(found, Failure):
            self._csv.writerow([*before, *("" for _ in self._names), found.code, str(found)])
        else:
            for row in lines_of(found.value, self._steps):
                self._csv.writerow([*before, *(cell_of(row.get(name)) for name in self._names), "", ""])
        self.to.flush()


def writer_of(kind: str, to: TextIO, extractor: Extractor, rows: str | None) -> Writer:
    """`kind` is json, jsonl or csv; `rows` goes with csv alone."""
    if kind == "csv":
        return Csv(to, extractor, rows)
    return JsonLines(to) if kind == "jsonl" else JsonArray(to)


def _numbered(outcome: Outcome) -> dict[str, Any]:
    job: Job = outcome.job
    return {"page": job.number, "url": job.url, "inputs": job.inputs, **plain_outcome(outcome.found)}


def members_of(described: OutputObject, steps: list[str], prefix: str = "") -> Iterator[tuple[str, OutputMember]]:
    """The cells of a line by name: members outside of the collection first, then those of its rows.

    `steps` lead to the collection whose rows are lines; none: a page is a line. Raises BadInput for one that is not.
    """
    step = steps[0] if steps else None
    inner = next((one for one in described.members if one.name == step), None)
    if step is not None and not isinstance(inner, OutputCollection):
        has = ", ".join(one.name for one in described.members if isinstance(one, OutputCollection)) or "none"
        raise BadInput(f"--rows: there is no collection {prefix}{step}; the collections there are: {has}")
    for one in described.members:
        if one.name != step:
            yield prefix + one.name, one
    if isinstance(inner, OutputCollection):
        yield from members_of(inner.row, steps[1:], f"{prefix}{step}.")


def lines_of(value: dict[str, Any], steps: list[str], prefix: str = "") -> Iterator[dict[str, Any]]:
    """The lines of a page's value, each by the names of its cells."""
    step = steps[0] if steps else None
    own = {prefix + name: held for name, held in value.items() if name != step}
    if step is None:
        yield own
        return
    for row in value[step]:
        for line in lines_of(row, steps[1:], f"{prefix}{step}."):
            yield own | line


def cell_of(value: Any) -> str:
    """A value as a cell of a CSV file: scalars as they are, null empty, everything else as JSON."""
    match value:
        case None:
            return ""
        case str():
            return value
        case float():
            return plain_decimal(value)
        case _:
            return json.dumps(value, ensure_ascii=False)
