"""Wire models of the script compiler (`POST /compile`, `GET /healthz`)."""

from typing import Annotated

from pydantic import Field

from comity.contract.scripts import MAX_SCRIPTS, PinnedScript
from comity.contract.wire import Answer, Request


class CompileRequest(Request):
    """Scripts to check as one program and turn into JavaScript; 0 to 100 of them."""

    scripts: Annotated[list[PinnedScript], Field(max_length=MAX_SCRIPTS)]


class CompileAnswer(Answer):
    """The same list in the same order: `source` is JavaScript now and `sha256` its hash."""

    typescript: str
    host_types: str
    cached: bool
    scripts: list[PinnedScript]


class Diagnostic(Answer):
    """One finding of the compiler. `code` is TypeScript's, for example `TS2339`; lines and columns count from 1."""

    file: str | None = None
    line: int | None = None
    col: int | None = None
    code: str
    message: str


class CompileFailed(Answer):
    """422: at least one script does not pass, and so there is no JavaScript for any."""

    message: str
    typescript: str
    diagnostics: list[Diagnostic]


class CompilerHealth(Answer):
    """`GET /healthz` of the compiler."""

    ok: bool
    typescript: str
    host_types: str
