"""What an extraction gives."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RunWarning:
    """Something that was recovered from. `row` counts a collection's matches from 0, dropped ones included."""

    code: str
    message: str
    path: str | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """`value` is plain data with its members in source order. `partial`: an error was recovered or a row dropped."""

    value: dict[str, Any]
    warnings: tuple[RunWarning, ...]
    partial: bool

    def plain(self) -> dict[str, Any]:
        """The result as plain JSON data, absent members of warnings left out."""
        return {"value": self.value, "warnings": [_plain(one) for one in self.warnings], "partial": self.partial}


def _plain(warning: RunWarning) -> dict[str, Any]:
    named = {"code": warning.code, "message": warning.message, "path": warning.path, "row": warning.row}
    return {name: value for name, value in named.items() if value is not None}
