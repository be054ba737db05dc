"""What ends a capture without artifacts.

CaptureFault            any end but success; becomes `status` and `errorDetails` of the report
RequestRefusedError     400: the request asks for what cannot be; names each field
"""

from comity.contract.capture import CaptureStatus, ErrorDetails, ErrorType, FieldProblem


class CaptureFault(Exception):  # noqa: N818 - it is a verdict that the report carries, not always an error of ours
    """Ends the capture.

    `step` names where: browser, navigate, load, settle, behaviors, read, html, links,
    mhtml, png, webp, banners, storage, wacz, sign, write, capture.
    """

    def __init__(
        self,
        kind: ErrorType,
        message: str,
        *,
        step: str | None = None,
        status: CaptureStatus | None = None,
        http_status_code: int | None = None,
        http_status_text: str | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.step = step
        self.status: CaptureStatus = status or ("timeout" if kind == "timeout" else "failed")
        self.http_status_code = http_status_code
        self.http_status_text = http_status_text
        self.timeout_ms = timeout_ms

    def details(self) -> ErrorDetails:
        """The fault as the report tells it."""
        return ErrorDetails(
            type=self.kind,
            message=self.message,
            http_status_code=self.http_status_code,
            http_status_text=self.http_status_text,
            timeout_ms=self.timeout_ms,
            step=self.step,
        )


def timed_out(what: str, budget_ms: int, *, step: str) -> CaptureFault:
    """A step that took longer than its budget."""
    return CaptureFault("timeout", f"{what} took longer than {budget_ms} ms", step=step, timeout_ms=budget_ms)


class RequestRefusedError(Exception):
    """The request is refused before anything happens."""

    def __init__(self, problems: list[FieldProblem]) -> None:
        super().__init__("; ".join(f"{problem.path or '/'}: {problem.message}" for problem in problems))
        self.problems = problems
