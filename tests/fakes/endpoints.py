"""A capture server that answers as a test says, and keeps what it was asked."""

import ssl
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes.http_server import Asked, FakeServer, Reply

STATUS = {
    "busy": False,
    "browser": {"connected": True, "version": "Fake/1"},
    "build": {"version": "0", "revision": "0", "buildTime": "2030-01-01T00:00:00Z"},
    "limits": {"maxResponseBytes": 1, "maxTaskBytes": 1, "maxPendingRequests": 1},
    "defaultUrlPolicies": [],
    "defaultContentTypePolicies": [],
}


def answer(
    asked: Asked,
    status: str = "success",
    *,
    error: str | None = None,
    message: str = "it failed",
    http_status: int | None = 200,
    retry_after_ms: int | None = None,
    manifest: dict[str, str] | None = None,
    task_id: str = "",
) -> dict[str, Any]:
    """The body of a 200 of `POST /captures`."""
    correlation_id = asked.body.get("correlationId", "none")
    task_id = task_id or f"t-{correlation_id}"
    report: dict[str, Any] = {
        "taskId": task_id,
        "correlationId": correlation_id,
        "url": asked.body["url"],
        "labels": [],
        "status": status,
        "timestamp": "2030-01-01T00:00:00.000Z",
        "captureProcessingTimeMs": 5,
        "artifacts": {"wacz": f"file:///store/{task_id}.wacz", "links": f"file:///store/{task_id}.links.json"}
        if status == "success"
        else {},
    }
    if http_status is not None:
        report["httpStatusCode"] = http_status
    if retry_after_ms is not None:
        report["retryAfterMs"] = retry_after_ms
    if error is not None:
        report["errorDetails"] = {"type": error, "message": message}
    kept = manifest or {"location": f"file:///store/{task_id}.result.json"}
    return {"taskId": task_id, "report": report, "manifest": kept}


def success(asked: Asked) -> Reply:
    """A page captured."""
    return Reply(body=answer(asked))


def busy(asked: Asked) -> Reply:
    """At another page."""
    return Reply(429, {"message": "at another page"}, {"x-amzn-errortype": "Busy"})


def refusal(status: int, kind: str, message: str) -> Callable[[Asked], Reply]:
    """400 or 500."""
    return lambda asked: Reply(status, {"message": message}, {"x-amzn-errortype": kind})


def failure(kind: str, status: str = "failed", message: str = "it failed") -> Callable[[Asked], Reply]:
    """A capture that came to nothing."""
    return lambda asked: Reply(body=answer(asked, status, error=kind, message=message, http_status=None))


def site_status(http_status: int, retry_after_ms: int | None = None) -> Callable[[Asked], Reply]:
    """The site answered with an HTTP error."""
    return lambda asked: Reply(
        body=answer(
            asked,
            "http_error",
            error="http",
            message=f"HTTP {http_status}",
            http_status=http_status,
            retry_after_ms=retry_after_ms,
        )
    )


def lost(asked: Asked) -> Reply:
    """The connection ends after the request was read."""
    return Reply(cut=True)


def slow(seconds: float) -> Callable[[Asked], Reply]:
    """A page captured after so long."""
    return lambda asked: Reply(body=answer(asked), wait=seconds)


Turn = Callable[[Asked], Reply]


class FakeEndpoint(FakeServer):
    """Takes its turns in order; the last one stays."""

    def __init__(self, turns: Sequence[Turn] = (success,), *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self._turns = list(turns)
        super().__init__(self._turn, tls=tls, port=port)

    def _turn(self, asked: Asked) -> Reply:
        if asked.path == "/status":
            return Reply(body=STATUS)
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        return turn(asked)

    @property
    def captures(self) -> list[Asked]:
        """The captures asked for, in order."""
        return self.of("POST", "/captures")
