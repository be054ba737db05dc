"""What the compiler refuses, and what can go wrong with it.

Refused                 an answer that is not 200; has a status and a kind
├── Invalid             400 ValidationException, with JSON Pointers
├── Unauthorized        401 Unauthorized
├── ForeignOrigin       403 ForeignOrigin
├── HashMismatch        409 SourceHashMismatch, with the script's id
├── CheckFailed         422 CompileFailed, with diagnostics
├── Busy                429 Busy
└── CompilerBroken      500 InternalFailure
CompilerMissing         no usable compiler on this machine; the service does not start
CacheUnusable           the cache folder is not ours alone; the service does not start
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from comity.contract.capture import FieldProblem, Refusal
from comity.contract.compiler import CompileFailed, Diagnostic


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A call that is answered with something else than 200."""

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "InternalFailure"
    """Goes into the header `x-amzn-errortype`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        return Refusal(message=self.message).to_wire()


class Invalid(Refused):
    """The request is not what the contract says. Each problem has a JSON Pointer (RFC 6901) into it."""

    status, kind = 400, "ValidationException"

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        first, more = problems[0], len(problems) - 1
        where = first.path or "the body"
        super().__init__(f"{where}: {first.message}" + (f" (and {more} more, see fieldList)" if more else ""))
        self.problems = list(problems)

    @classmethod
    def at(cls, path: str, message: str) -> "Invalid":
        """One problem; `path` empty means the whole body."""
        return cls([FieldProblem(path=path, message=message)])

    def body(self) -> dict[str, Any]:
        return Refusal(message=self.message, field_list=self.problems).to_wire()


class Unauthorized(Refused):
    status, kind = 401, "Unauthorized"


class ForeignOrigin(Refused):
    """A web page called. No page has business here, so whatever its origin, it is a foreign one."""

    status, kind = 403, "ForeignOrigin"


class HashMismatch(Refused):
    """A source whose bytes are not those that its `sha256` was taken from."""

    status, kind = 409, "SourceHashMismatch"

    def __init__(self, message: str, script_id: str) -> None:
        super().__init__(message)
        self.script_id = script_id

    def body(self) -> dict[str, Any]:
        return {"message": self.message, "id": self.script_id}


class CheckFailed(Refused):
    """At least one script does not pass; there is no JavaScript for any."""

    status, kind = 422, "CompileFailed"

    def __init__(self, message: str, typescript: str, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(message)
        self.typescript = typescript
        self.diagnostics = list(diagnostics)

    def body(self) -> dict[str, Any]:
        answer = CompileFailed(message=self.message, typescript=self.typescript, diagnostics=self.diagnostics)
        return answer.to_wire()


class Busy(Refused):
    """Other checks were in front for longer than a caller is asked to wait."""

    status, kind = 429, "Busy"


class CompilerBroken(Refused):
    """The native compiler failed in a way that no script causes."""

    status, kind = 500, "InternalFailure"


class CompilerMissing(Exception):  # noqa: N818 - reads as what it says
    """No usable TypeScript compiler. The message names the setting and the command that mend it."""


class CacheUnusable(Exception):  # noqa: N818 - reads as what it says
    """The folder of TSCOMPILE_CACHE cannot be had, or not for us alone. The message says how to mend it."""
