"""What a compiler has to say, as frozen values, and the order in which it is said."""

from dataclasses import dataclass, field
from typing import Literal

from comity.extract.compiler.files import SourceText
from comity.extract.ir.spans import Span
from comity.extract.kdl.tree import Node, Property, Value

MAX_DIAGNOSTICS = 1000
"""What one program is told: who has more mistakes has not written one."""
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to know about a program. `path` names the part of the program, for example `output.title`."""

    code: str
    severity: Severity
    message: str
    span: Span
    path: str | None = None


@dataclass(slots=True)
class Findings:
    """Collects diagnostics. Sorted by the files' depth-first position, file, start and code."""

    _found: list[tuple[int, Diagnostic]] = field(default_factory=list)

    def error(
        self, source: SourceText, code: str, message: str, at: Node | Property | Value, path: str | None = None
    ) -> None:
        end = at.value.end if isinstance(at, Property) else at.end
        self.error_at(source, code, message, (at.start, end), path)

    def error_at(
        self, source: SourceText, code: str, message: str, place: tuple[int, int], path: str | None = None
    ) -> None:
        if len(self._found) >= MAX_DIAGNOSTICS:
            return
        span = source.locator.span(*place)
        self._found.append((source.position, Diagnostic(code, "error", message, span, path)))

    def warning(self, source: SourceText, code: str, message: str, at: Node, path: str) -> None:
        span = source.locator.span(at.start, at.end)
        self._found.append((source.position, Diagnostic(code, "warning", message, span, path)))

    @property
    def has_errors(self) -> bool:
        return any(diagnostic.severity == "error" for _, diagnostic in self._found)

    def in_order(self) -> tuple[Diagnostic, ...]:
        ordered = sorted(self._found, key=lambda one: (one[0], one[1].span.file, one[1].span.start.offset, one[1].code))
        return tuple(diagnostic for _, diagnostic in ordered)
