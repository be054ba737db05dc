"""`comity extract run`: which pages, by which program, in which shape. What does not go together is told first."""

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from comity.cli.data_folder import DataFolder
from comity.cli.errors import BadInput
from comity.cli.extraction.inputs import Inputs, jobs_of_inputs, jobs_of_urls, typed_inputs, web_address
from comity.cli.extraction.many import run_many
from comity.cli.extraction.one import run_one, run_snapshot
from comity.cli.extraction.politeness import Manners
from comity.cli.extraction.programs import MISTAKES, ready_program
from comity.cli.extraction.sessions import read_session
from comity.extract import ExtractOptions, Program

INTERRUPTED = 130
HTTP_TIMEOUT_S = 30.0
BROWSER_TIMEOUT_S = 150.0
"""A capture may take 145 s."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What was typed."""

    file: Path
    inputs: tuple[str, ...]
    inputs_file: str | None
    url: str | None
    urls_file: str | None
    html: str | None
    session: str | None
    kind: str
    rows: str | None
    allow_private_hosts: bool
    timeout_s: float | None
    manners: Manners

    def check(self) -> None:
        """Raises BadInput for options that do not go together."""
        pages = {
            "--inputs": self.inputs_file,
            "--url": self.url,
            "--urls": self.urls_file,
            "--html": self.html,
        }
        given = [name for name, value in pages.items() if value is not None]
        if len(given) > 1:
            raise BadInput(f"{' and '.join(given)} do not go together: each says which pages")
        from_stdin = [name for name, value in {**pages, "--session": self.session}.items() if value == "-"]
        if len(from_stdin) > 1:
            raise BadInput(f"{' and '.join(from_stdin)}: only one can be standard input")
        if self.html is not None and self.session is not None:
            raise BadInput("--session goes with pages that are asked for, not with --html")
        if self.rows is not None and self.kind != "csv":
            raise BadInput("--rows goes with --csv: it says which collection's rows are the lines")


def run(request: RunRequest, data: DataFolder) -> int:
    """The exit status: 0, 1 for mistakes in the program and pages without a result, 130 where it was interrupted."""
    request.check()
    program = ready_program(request.file)
    if program is None:
        return MISTAKES
    try:
        with _interruptible():
            return _run(program, request, data)
    except KeyboardInterrupt:
        return INTERRUPTED


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, and Ctrl-C also where a script's shell made us ignore it (a job with `&`)."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT)),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(program: Program, request: RunRequest, data: DataFolder) -> int:
    inputs = typed_inputs(program.extractor, request.inputs)
    in_browser = program.extractor.source.fetch.mode == "browser"
    timeout_s = request.timeout_s or (BROWSER_TIMEOUT_S if in_browser else HTTP_TIMEOUT_S)
    if request.html is not None:
        return run_snapshot(program, request.html, inputs, timeout_s=timeout_s, kind=request.kind, rows=request.rows)
    options = ExtractOptions(
        url=None if request.url is None else _checked(request.url),
        session=None if request.session is None else read_session(request.session),
        allow_private_hosts=request.allow_private_hosts,
        timeout_s=timeout_s,
    )
    with contextlib.ExitStack() as stack:
        if in_browser and program.refusal is None:
            from comity.cli.extraction.browsing import pages_of_stack  # the clients of all services come with it

            options = replace(options, browser=stack.enter_context(pages_of_stack(data)))
        return _over_pages(program, request, inputs, options)


def _over_pages(program: Program, request: RunRequest, inputs: Inputs, options: ExtractOptions) -> int:
    if request.inputs_file is not None:
        jobs = jobs_of_inputs(program, request.inputs_file, inputs)
    elif request.urls_file is not None:
        jobs = jobs_of_urls(request.urls_file)
    else:
        return run_one(program, inputs, options, kind=request.kind, rows=request.rows)
    return run_many(program, jobs, options, request.manners, kind=request.kind, rows=request.rows)


def _checked(url: str) -> str:
    try:
        return web_address(url)
    except ValueError as error:
        raise BadInput(f"--url {url[:200]}: {error}") from None
