"""How an extraction ends when it does not end in a result.

    Exception
    └── RunError          inside this room only: carries code, message and, once known, the path
        ├── HaltedError   cancelled, out of time or over a limit: no recovery takes it

Callers get a `Failure`, never one of these. Codes are the language's.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no result: `code` is stable, `message` is for people, `path` names the member that it was."""

    code: str
    message: str
    path: str | None = None

    def __str__(self) -> str:
        return f"{self.code} at {self.path}: {self.message}" if self.path else f"{self.code}: {self.message}"


class RunError(Exception):
    """An error of the program's, at `path` once somebody knows it."""

    def __init__(self, code: str, message: str, path: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path

    def as_failure(self) -> Failure:
        return Failure(self.code, self.message, self.path)


class HaltedError(RunError):
    """Nothing recovers from it: neither `on-error` nor `on-row-error`."""


def transform_error(message: str) -> RunError:
    return RunError("E_TRANSFORM", message)


def shown(value: object) -> str:
    """A page's value in a message: quoted, and no longer than a line."""
    text = repr(value[:80] if isinstance(value, str) else value)
    return text if len(text) <= 100 else text[:97] + "..."
