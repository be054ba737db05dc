"""Events of the ledger as JSON lines on stderr. Facts and ids only: no token, no body."""

import json
import logging
import sys
from datetime import UTC, datetime

LOGGER = logging.getLogger("ledger")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        facts = getattr(record, "facts", None)
        if isinstance(facts, dict):
            line.update(facts)
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def to_stderr() -> None:
    """Send our events, and other libraries' warnings, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(logging.INFO)


def event(name: str, **facts: object) -> None:
    """Something happened."""
    LOGGER.info(name, extra={"facts": facts})


def warning(name: str, **facts: object) -> None:
    """Something happened that an operator may want to look at."""
    LOGGER.warning(name, extra={"facts": facts})


def failure(name: str, error: BaseException, **facts: object) -> None:
    """Something broke that should not: with the trace, for us alone."""
    LOGGER.error(name, exc_info=error, extra={"facts": facts})
