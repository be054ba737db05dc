"""Typed data out of pages: the scraping language, its validated programs and what runs them.

`compile` makes an `Extractor` of a file or a text, `Program.prepare` makes it ready, and `extract`, `extract_async` and
`extract_snapshot` give a `Result` or a `Failure`.
"""

from comity.extract.compiler.compilation import Compilation, compile  # noqa: A004 - as in `re.compile`
from comity.extract.compiler.diagnostics import Diagnostic
from comity.extract.compiler.files import Loader, folder_loader
from comity.extract.ir.canonical import canonical_json, plain
from comity.extract.ir.json_schema import result_schema
from comity.extract.ir.program import Extractor
from comity.extract.ir.reading import ReadProgram, read_program
from comity.extract.run import (
    USER_AGENT,
    BrowserPages,
    Cancellation,
    ExtractOptions,
    Failure,
    Program,
    Result,
    RunWarning,
    Session,
    SnapshotOptions,
    open_client,
)

__all__ = [
    "USER_AGENT",
    "BrowserPages",
    "Cancellation",
    "Compilation",
    "Diagnostic",
    "ExtractOptions",
    "Extractor",
    "Failure",
    "Loader",
    "Program",
    "ReadProgram",
    "Result",
    "RunWarning",
    "Session",
    "SnapshotOptions",
    "canonical_json",
    "compile",
    "folder_loader",
    "open_client",
    "plain",
    "read_program",
    "result_schema",
]
