"""The steps of one capture with their times, as `….trace.jsonl`: where the time went, and where it ended.

Always noted, since it costs nothing; kept only where the request asks for it.
"""

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from time import monotonic
from typing import Any

MAX_STEPS = 5_000
MAX_ERROR_CHARACTERS = 500


class Trace:
    """One per capture."""

    def __init__(self) -> None:
        self._started_s = monotonic()
        self._lines: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def step(self, step: str, what: str) -> Iterator[None]:
        """Notes one step when the block ends, however it ends. Steps may lie inside one another."""
        began_at, began_s = datetime.now(UTC), monotonic()
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._note(step, what, began_at, began_s, error)

    def lines(self) -> bytes:
        """One JSON object per line, in the order in which the steps ended."""
        return b"".join(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for line in self._lines)

    def _note(self, step: str, what: str, began_at: datetime, began_s: float, error: BaseException | None) -> None:
        if len(self._lines) >= MAX_STEPS:
            return
        line: dict[str, Any] = {
            "at": began_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "sinceStartMs": round((began_s - self._started_s) * 1000, 1),
            "step": step,
            "what": what,
            "tookMs": round((monotonic() - began_s) * 1000, 1),
            "outcome": "ok" if error is None else "failed",
        }
        if error is not None:
            line["error"] = (str(error) or type(error).__name__)[:MAX_ERROR_CHARACTERS]
        self._lines.append(line)
