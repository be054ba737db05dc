"""What a run tells the ledger of a page: what a program gave, cut to what the ledger takes; and when to tell it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from comity.contract.extraction import (
    MAX_MESSAGE_CHARACTERS,
    MAX_RESULTS_PER_REPORT,
    MAX_WARNINGS,
    PAGE_RESULT_UNSTORABLE,
    ExtractionError,
    ExtractionResult,
    ExtractionWarning,
)
from flows.rules.reasons import one_line

MORE_WARNINGS = "W_MORE_WARNINGS"
PROGRAM_TIMEOUT_S = 10
"""For one program and one page. The language's own limit is 30 s, for a page that also comes over the network."""
KILL_AFTER_S = 15
"""A program looks at its time between rows; one that is at a single query for so long is ended from outside."""
MAX_MEMORY_BYTES = 3 * 1024**3
"""Of address space, for the process that reads pages."""
REPORT_RESULTS = 100
REPORT_BYTES = 4 * 1024 * 1024
"""With the largest value that there is on top it stays within the ledger's limit for a report."""
TELL_EVERY_MS = 5_000
"""A report is a sign of life too; with the longest that one program takes it is well within every limit of silence."""


@dataclass(frozen=True, slots=True)
class Gave:
    """What a program gave for a page: the value, or an error; warnings with either."""

    value: dict[str, Any] | None
    partial: bool = False
    warnings: Sequence[Mapping[str, Any]] = ()
    error: Mapping[str, Any] | None = None


def failure(code: str, message: str, path: str | None = None) -> Gave:
    """Nothing, for this reason."""
    return Gave(None, error={"code": code, "message": message, "path": path})


def result_of(page_id: str, extractor: str, gave: Gave) -> ExtractionResult:
    """What the ledger is told. It takes no NUL and no half of a surrogate pair, which no database holds."""
    place = _unstorable(gave.value, "output")
    if place is not None:
        message = "has a NUL or half of a surrogate pair in it, which no database holds; take it out by a transform"
        gave = failure(PAGE_RESULT_UNSTORABLE, f"{place} {message}", place)
    return ExtractionResult(
        page_id=page_id,
        extractor=extractor,
        value=gave.value if gave.error is None else None,
        partial=gave.partial,
        warnings=_warnings(gave.warnings),
        error=_error(gave.error) if gave.error is not None else None,
    )


def due(results: int, size_bytes: int, silent_ms: int) -> bool:
    """Whether it is time to tell the ledger, by what is in hand and how long it has heard nothing."""
    return (
        results >= min(REPORT_RESULTS, MAX_RESULTS_PER_REPORT)
        or size_bytes >= REPORT_BYTES
        or silent_ms >= TELL_EVERY_MS
    )


def _error(told: Mapping[str, Any]) -> ExtractionError:
    return ExtractionError(
        code=str(told["code"])[:100],
        message=_text(told["message"]),
        path=_text(told["path"]) if told.get("path") else None,
    )


def _warnings(told: Sequence[Mapping[str, Any]]) -> list[ExtractionWarning]:
    kept = [
        ExtractionWarning(
            code=str(one["code"])[:100],
            message=_text(one["message"]),
            path=_text(one["path"]) if one.get("path") else None,
            row=one.get("row"),
        )
        for one in told[: MAX_WARNINGS if len(told) <= MAX_WARNINGS else MAX_WARNINGS - 1]
    ]
    left_out = len(told) - len(kept)
    return [*kept, *([ExtractionWarning(code=MORE_WARNINGS, message=f"and {left_out} more")] if left_out else [])]


def _text(value: object) -> str:
    """One line of text that a database holds."""
    line = str(value).replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return one_line(line, MAX_MESSAGE_CHARACTERS)


def _unstorable(value: object, path: str) -> str | None:
    """The path of the first text that cannot be kept. As deep as programs nest, which is 32."""
    if isinstance(value, str):
        return path if "\0" in value or _has_lone_surrogate(value) else None
    if isinstance(value, dict):
        found = (_unstorable(item, f"{path}.{name}") for name, item in value.items())
    elif isinstance(value, list):
        found = (_unstorable(item, f"{path}[{place}]") for place, item in enumerate(value))
    else:
        return None
    return next((one for one in found if one is not None), None)


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
