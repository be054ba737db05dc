"""Inputs of a program as people give them: `--input name=value`, and files of many."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from comity.cli.errors import BadInput
from comity.cli.reading import head_of
from comity.contract.web_address import web_url
from comity.extract import Extractor, Failure, Program

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_TOLD = 10
"""Wrong lines that are told before the rest is left out."""
Inputs = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One page to get. `number` counts from 1 in the order of the file; `url` is where the page is."""

    number: int
    url: str
    inputs: Inputs = field(default_factory=dict)


def typed_inputs(extractor: Extractor, pairs: Sequence[str]) -> Inputs:
    """`--input` options as values of their types. Raises BadInput."""
    found: Inputs = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise BadInput(f"--input {pair!r}: write name=value")
        if name in found:
            raise BadInput(f"--input {name}: is given twice")
        found[name] = _typed(extractor, name, text, f"--input {name}")
    return found


def jobs_of_inputs(program: Program, source: str, shared: Inputs) -> list[Job]:
    """A job for each row of a CSV file (names in its first line) or each object of a JSON Lines file.

    `shared` inputs hold where a row has none of its own. All rows are checked: BadInput names those that are wrong.
    """
    rows = _rows(program.extractor, source)
    jobs, faults = list[Job](), list[str]()
    for number, (line, inputs) in enumerate(rows, start=1):
        url = program.url(shared | inputs)
        if isinstance(url, Failure):
            faults.append(f"line {line}: {url}")
        else:
            jobs.append(Job(number, url, shared | inputs))
    _refuse(f"--inputs {source}", faults)
    return _some(jobs, f"--inputs {source}")


def jobs_of_urls(source: str) -> list[Job]:
    """A job for each line of a file of URLs; empty lines and those that begin with # are passed over.

    All are checked: BadInput names those that are wrong.
    """
    jobs, faults = list[Job](), list[str]()
    for number, line in enumerate(_text(source, "--urls").split("\n"), start=1):
        url = line.strip()
        if url and not url.startswith("#"):
            try:
                jobs.append(Job(len(jobs) + 1, web_address(url)))
            except ValueError as error:
                faults.append(f"line {number}: {error}")
    _refuse(f"--urls {source}", faults)
    return _some(jobs, f"--urls {source}")


def _rows(extractor: Extractor, source: str) -> Iterable[tuple[int, Inputs]]:
    """Each row with its line."""
    text = _text(source, "--inputs")
    is_lines = Path(source).suffix.lower() in (".jsonl", ".ndjson") or (source == "-" and text.lstrip().startswith("{"))
    if not is_lines and source != "-" and Path(source).suffix.lower() != ".csv":
        raise BadInput(f"--inputs {source}: its name must end in .csv or .jsonl, so that it is known how to read it")
    return _json_lines(source, text) if is_lines else _csv_rows(extractor, source, text)


def _json_lines(source: str, text: str) -> list[tuple[int, Inputs]]:
    found, faults = list[tuple[int, Inputs]](), list[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.append(f"line {number}: is not JSON: {error}")
            continue
        if isinstance(value, dict):
            found.append((number, value))
        else:
            faults.append(f"line {number}: must be an object of inputs by their names")
    _refuse(f"--inputs {source}", faults)
    return found


def _csv_rows(extractor: Extractor, source: str, text: str) -> list[tuple[int, Inputs]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found, faults = list[tuple[int, Inputs]](), list[str]()
    optional = {one.name for one in extractor.inputs if not one.required}
    try:
        names = next(reader, [])
        if len(set(names)) < len(names):
            raise BadInput(f"--inputs {source}: line 1: a column is there twice")
        for cells in reader:
            line = reader.line_num
            if not cells:
                continue
            if len(cells) != len(names):
                faults.append(f"line {line}: has {len(cells)} cells, line 1 names {len(names)}")
                continue
            # nothing in the cell of an input that may be left out: it is left out
            given = {name: cell for name, cell in zip(names, cells, strict=True) if cell or name not in optional}
            try:
                values = {name: _typed(extractor, name, cell, f"line {line}: {name}") for name, cell in given.items()}
            except BadInput as error:
                faults.append(str(error))
                continue
            found.append((line, values))
    except csv.Error as error:
        raise BadInput(f"--inputs {source}: line {reader.line_num}: is not CSV: {error}") from None
    _refuse(f"--inputs {source}", faults)
    return found


def _typed(extractor: Extractor, name: str, text: str, where: str) -> Any:
    """Text as a value of the input's type; text stays text where the program has no such input and will say so."""
    kind = next((one.type for one in extractor.inputs if one.name == name), "string")
    read: dict[str, Callable[[str], Any]] = {"int": _integer, "float": _number, "bool": _boolean, "string": str}
    try:
        return read[kind](text)
    except ValueError:
        wanted = {"int": "an integer", "float": "a number", "bool": "true or false"}[kind]
        raise BadInput(f"{where}: {text[:80]!r} is not {wanted}") from None


def _integer(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise ValueError(text)
    return int(text)


def _number(text: str) -> float:
    if not set(text) <= set("0123456789+-.eE"):
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _text(source: str, option: str) -> str:
    try:
        data = head_of(source, MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise BadInput(f"{option} {source}: over {MAX_FILE_BYTES} bytes; split it")
        return data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{option} {source}: cannot be read ({said})") from None


def web_address(url: str) -> str:
    """The same URL. Raises ValueError that says why it cannot be asked for."""
    if "@" in urlsplit(web_url(url)).netloc:
        raise ValueError("has a user or a password in it; give a session instead")
    return url


def _refuse(where: str, faults: Sequence[str]) -> None:
    if faults:
        more = f"; and {len(faults) - MAX_TOLD} more" if len(faults) > MAX_TOLD else ""
        raise BadInput(f"{where}: {'; '.join(faults[:MAX_TOLD])}{more}; nothing was sent")


def _some(jobs: list[Job], where: str) -> list[Job]:
    if not jobs:
        raise BadInput(f"{where}: has no rows")
    return jobs
