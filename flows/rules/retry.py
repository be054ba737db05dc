"""Which failures are worth a second visit, and what a run of failures says about the host."""

from dataclasses import dataclass
from typing import Literal

from comity.contract.capture import CaptureReport, ErrorDetails
from flows.rules.reasons import one_line

MAX_TRIES = 2
"""A capture that failed for a passing cause is tried once more, after the same gap as any other visit."""
CONNECTION_FAILURES = 5
"""So many failures to connect in a row, and the rest of the host is not visited."""
HOST_UNREACHABLE = f"host-unreachable: {CONNECTION_FAILURES} captures in a row found no connection to the host"

Failure = Literal[
    "http", "timeout", "connection", "signing", "internal", "artifact_sink", "cancelled", "policy", "lost"
]
"""The capture server's kinds, and `lost`: the connection to the server ended after sending."""

_PASSING: frozenset[Failure] = frozenset({"connection", "timeout", "internal", "lost"})


def tries_again(failure: Failure, captures_so_far: int) -> bool:
    """`artifact_sink`, `policy`, `signing`, `http` and `cancelled` would fail the same way again."""
    return failure in _PASSING and captures_so_far < MAX_TRIES


def failure_of(report: CaptureReport) -> Failure | None:
    """The kind of failure that a report tells, None for a success."""
    if report.status == "success":
        return None
    if report.error_details is not None:
        return report.error_details.type
    return "http" if report.status == "http_error" else "timeout" if report.status == "timeout" else "internal"


def outcome_of(report: CaptureReport) -> str:
    """A report in one line: `success`, `http_error: 404 Not Found`, `failed: connection: ...`."""
    if report.status == "success":
        return "success"
    details = report.error_details
    return one_line(f"{report.status}: {_said(details, report.http_status_code)}")


def _said(details: ErrorDetails | None, http_status: int | None) -> str:
    if details is None:
        return f"HTTP {http_status}" if http_status else "no details"
    step = f" (at {details.step})" if details.step else ""
    return f"{details.message or details.type}{step}"


def asks_for_rest(report: CaptureReport) -> bool:
    """The site said 429 or 503: it wants quiet."""
    return report.http_status_code in (429, 503)


@dataclass(frozen=True, slots=True)
class Streak:
    """Failures to connect in a row."""

    length: int = 0

    def after(self, failure: Failure | None) -> "Streak":
        """Anything that proves the host to be there ends the streak; what says nothing about the host keeps it."""
        if failure == "connection":
            return Streak(self.length + 1)
        return self if failure in ("lost", "internal", "cancelled") else Streak(0)

    @property
    def unreachable(self) -> bool:
        """The host is not there."""
        return self.length >= CONNECTION_FAILURES
