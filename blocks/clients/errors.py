"""Why a call to one of our services came to nothing.

    ServiceError                    part, URL, what happened, next step
    ├── ServiceUnreachable          no byte of the request was sent: nobody there, or TLS refused
    ├── ConnectionLost              it ended after the request went out: the service may have acted on it
    ├── DeadlinePassed              the caller's budget is over; the service may still be at it
    ├── HungUp                      our own side ended the call on purpose
    ├── AnswerUnreadable            an answer that breaks the contract
    └── ServiceRefused              a refusal with status and message
        ├── CrawlInTheWayError      409 of a start: another crawl runs
        ├── HostTakenError          409 of the host gate: others have the host, or our work is over
        ├── CaptureBusy             429: the server is at another page
        └── CompileRejected         422: scripts that do not pass the type check

The difference between *before* and *after sending* decides whether the same work may be given to someone else, so
the clients never guess it.
"""

# ruff: noqa: N818 -- the names say what happened, as the contract between the rooms words it

from typing import Any

from comity.contract.compiler import CompileFailed
from comity.contract.hosts import HostLeased
from comity.contract.ledger import CrawlInTheWay, ErrorField


class ServiceError(Exception):
    """A call that failed. `part` is the service's name, `url` where it was looked for, `happened` one line."""

    def __init__(self, part: str, url: str, happened: str, next_step: str = "") -> None:
        self.part = part
        self.url = url
        self.happened = happened
        self.next_step = next_step
        said = f"{part} {url}: {happened}"
        super().__init__(f"{said}; {next_step}" if next_step else said)


class ServiceUnreachable(ServiceError):
    """Nothing was sent: no connection, or no TLS that we trust."""


class ConnectionLost(ServiceError):
    """The connection ended after (a part of) the request went out. Whether the service acted is unknown."""


class DeadlinePassed(ServiceError):
    """No whole answer within `deadline_ms`."""

    def __init__(self, part: str, url: str, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        super().__init__(part, url, f"deadline {deadline_ms} ms passed", "see the service's log for what holds it")


class HungUp(ServiceError):
    """The caller was told to stop and closed the connection; a capture server then cancels the capture."""

    def __init__(self, part: str, url: str) -> None:
        super().__init__(part, url, "hung up, because this side was told to stop")


class AnswerUnreadable(ServiceError):
    """The answer is not what the contract promises: another service, or another version, listens there."""

    def __init__(self, part: str, url: str, happened: str) -> None:
        super().__init__(part, url, happened, f"check that the URL leads to a {part} of this version")


class ServiceRefused(ServiceError):
    """A refusal: `status` is HTTP's, `kind` the error type where the service names one, `fields` what is wrong.

    `code` is the ledger's, for decisions; the message is for people.
    """

    def __init__(
        self,
        part: str,
        url: str,
        *,
        call: str,
        status: int,
        message: str,
        kind: str | None = None,
        code: str | None = None,
        fields: tuple[ErrorField, ...] = (),
        body: Any = None,
        next_step: str = "",
    ) -> None:
        self.call = call
        self.status = status
        self.kind = kind
        self.code = code
        self.message = message
        self.fields = fields
        self.body = body
        named = "; ".join(f"{one.field}: {one.message}" for one in fields)
        said = f"{call} refused with {status}{f' {kind}' if kind else ''}: {message}"
        super().__init__(part, url, f"{said} ({named})" if named else said, next_step)


class CrawlInTheWayError(ServiceRefused):
    """409 of a start: `crawl` is the one that runs already."""

    def __init__(self, part: str, url: str, *, call: str, message: str, crawl: CrawlInTheWay, body: Any) -> None:
        self.crawl = crawl
        super().__init__(
            part,
            url,
            call=call,
            status=409,
            message=message,
            code=crawl.code,
            body=body,
            next_step=f"wait until crawl {crawl.crawl_id} ends, or cancel it",
        )


class HostTakenError(ServiceRefused):
    """409 of the host gate: ask again after `retry_after_ms`, unless `stop` says that there is no more to do."""

    def __init__(self, part: str, url: str, *, call: str, taken: HostLeased, body: Any) -> None:
        self.retry_after_ms = taken.retry_after_ms
        self.stop = taken.stop
        super().__init__(part, url, call=call, status=409, message=taken.error, code=taken.code, body=body)


class CaptureBusy(ServiceRefused):
    """429: one browser, one capture at a time, and it is at another page."""


class CompileRejected(ServiceRefused):
    """422: `failed` holds the compiler's diagnostics; there is no JavaScript for any script."""

    def __init__(self, part: str, url: str, *, call: str, failed: CompileFailed, body: Any) -> None:
        self.failed = failed
        super().__init__(
            part,
            url,
            call=call,
            status=422,
            kind="CompileFailed",
            message=failed.message,
            body=body,
            next_step="mend the script and start again",
        )
