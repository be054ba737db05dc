"""The log: one JSON object per line on standard error, with the task that it belongs to."""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from comity.contract.wire import rfc3339

task_id: ContextVar[str | None] = ContextVar("task_id", default=None)
"""Set by whoever works for a capture; tasks started from there inherit it."""


class JsonLines(logging.Formatter):
    """`{at, level, logger, message, taskId?, error?}`; a stack trace is text in `error`, never lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "at": rfc3339(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        current = task_id.get()
        if current is not None:
            line["taskId"] = current
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def to_standard_error(level: int = logging.INFO) -> None:
    """Sends this process's whole log there, in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
