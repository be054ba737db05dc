"""The fixture web: real servers on loopback that tests and the demonstration capture."""

from tests.site.fixture import FixtureSite
from tests.site.log import LogEntry, read_log
from tests.site.visits import Visit, visits_of
from tests.site.wire import Request, Response, html, redirect, stream, text

__all__ = [
    "FixtureSite",
    "LogEntry",
    "Request",
    "Response",
    "Visit",
    "html",
    "read_log",
    "redirect",
    "stream",
    "text",
    "visits_of",
]
