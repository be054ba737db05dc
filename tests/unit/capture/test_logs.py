"""Log lines are JSON, each with its task."""

import json
import logging
import sys

from comity.capture.logs import JsonLines, task_id


def record(message: str, *args: object, failed: bool = False) -> logging.LogRecord:
    return logging.LogRecord("room", logging.WARNING, __file__, 1, message, args, sys.exc_info() if failed else None)


def test_line_names_its_task_only_within_one() -> None:
    formatter = JsonLines()
    outside = json.loads(formatter.format(record("two\nlines of %s", "灯")))
    assert outside.pop("at").endswith("Z")
    assert outside == {"level": "warning", "logger": "room", "message": "two\nlines of 灯"}
    token = task_id.set("t1")
    try:
        assert json.loads(formatter.format(record("x")))["taskId"] == "t1"
    finally:
        task_id.reset(token)


def test_stack_trace_stays_on_its_line() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        line = JsonLines().format(record("x", failed=True))
    assert "\n" not in line
    assert "ValueError: broken" in json.loads(line)["error"]
