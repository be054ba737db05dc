"""`comity extract run` for one page: got by the program, or there already."""

import json
import sys

from rich.text import Text

from comity.cli.console import progress_output
from comity.cli.errors import BadInput
from comity.cli.extraction.inputs import Inputs, Job
from comity.cli.extraction.politeness import Outcome
from comity.cli.extraction.writing import plain_outcome, writer_of
from comity.cli.reading import head_of
from comity.extract import ExtractOptions, Failure, Program, Result, SnapshotOptions

MAX_HTML_BYTES = 32 * 1024 * 1024


def run_one(program: Program, inputs: Inputs, options: ExtractOptions, *, kind: str, rows: str | None) -> int:
    """Gets the page and writes what is in it. The exit status: 0, or 1 where there is no result."""
    found = program.extract(inputs, options)
    url = options.url or program.url(inputs)
    return _written(program, Job(1, url if isinstance(url, str) else "", inputs), found, kind=kind, rows=rows)


def run_snapshot(
    program: Program, source: str, inputs: Inputs, *, timeout_s: float, kind: str, rows: str | None
) -> int:
    """Reads a page that is there, `-` for standard input, and sends nothing. The exit status."""
    html = _page(source)
    found = program.extract_snapshot(html, inputs or None, SnapshotOptions(timeout_s=timeout_s))
    return _written(program, Job(1, "", inputs), found, kind=kind, rows=rows)


def told(found: Result | Failure, *, before: str = "") -> list[str]:
    """What people are told of an outcome: its failure, or its warnings."""
    if isinstance(found, Failure):
        return [f"{before}{found}"]
    return [
        f"{before}{one.code}{f' at {one.path}' if one.path else ''}: {one.message}"
        for one in found.warnings
        if one.code != "W_PARTIAL_EXTRACTION"
    ]


def _written(program: Program, job: Job, found: Result | Failure, *, kind: str, rows: str | None) -> int:
    if kind == "json":
        print(json.dumps(plain_outcome(found), indent=2, ensure_ascii=False), flush=True)
    else:
        writer = writer_of(kind, sys.stdout, program.extractor, rows)
        writer.write(Outcome(job, found))
        writer.end()
    for line in told(found):
        progress_output().print(Text(line), soft_wrap=True)
    return int(isinstance(found, Failure))


def _page(source: str) -> bytes:
    try:
        data = head_of(source, MAX_HTML_BYTES + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"--html {source}: cannot be read ({said})") from None
    if len(data) > MAX_HTML_BYTES:
        raise BadInput(f"--html {source}: over {MAX_HTML_BYTES} bytes")
    return data
