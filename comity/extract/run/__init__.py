"""Runs programs of the scraping language: over pages that they get themselves, and over pages that are there."""

from comity.extract.run.browser import BrowserPages
from comity.extract.run.failures import Failure
from comity.extract.run.options import USER_AGENT, Cancellation, ExtractOptions, SnapshotOptions
from comity.extract.run.program import Program
from comity.extract.run.results import Result, RunWarning
from comity.extract.run.visits import open_client
from comity.polite.answers import Session

__all__ = [
    "USER_AGENT",
    "BrowserPages",
    "Cancellation",
    "ExtractOptions",
    "Failure",
    "Program",
    "Result",
    "RunWarning",
    "Session",
    "SnapshotOptions",
    "open_client",
]
