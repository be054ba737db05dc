"""From what the browser says to what the report says. Facts in, verdict out."""

from http import HTTPStatus

from comity.capture.egress.book import Refused, Unreached
from comity.capture.errors import CaptureFault

REFUSED_BY_POLICY = frozenset({"net::ERR_BLOCKED_BY_CLIENT", "net::ERR_BLOCKED_BY_ADMINISTRATOR"})
NO_WAY = frozenset({"net::ERR_SOCKS_CONNECTION_FAILED", "net::ERR_SOCKS_CONNECTION_HOST_UNREACHABLE"})
"""The egress guard made no connection, and knows why."""
ANSWERED_BADLY = frozenset({"net::ERR_TOO_MANY_REDIRECTS", "net::ERR_UNSAFE_REDIRECT", "net::ERR_INVALID_REDIRECT"})
NOT_DECODED = frozenset({"net::ERR_CONTENT_DECODING_FAILED", "net::ERR_CONTENT_DECODING_INIT_FAILED"})
WITHOUT_PAGE = frozenset({204, 205, 304})

_VIEWED = frozenset(
    {
        "application/xhtml+xml",
        "application/xml",
        "application/json",
        "application/javascript",
        "application/ecmascript",
        "application/x-javascript",
        "multipart/x-mixed-replace",
        "multipart/related",
    }
)


def status_text(status: int) -> str | None:
    """The registered phrase of a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return None


def http_error(status: int) -> CaptureFault:
    """The main document answered 400 or above."""
    phrase = status_text(status)
    return CaptureFault(
        "http",
        f"the page answered {status}" + (f" {phrase}" if phrase else ""),
        step="navigate",
        status="http_error",
        http_status_code=status,
        http_status_text=phrase,
    )


def navigation_fault(error_text: str, status: int | None) -> CaptureFault:
    """The browser's reason why it shows no page. `status` is the main document's, if one came."""
    if status is not None and status >= 400:
        return http_error(status)
    if error_text in REFUSED_BY_POLICY:
        return CaptureFault("policy", "the page is denied by urlPolicies", step="navigate")
    if status in WITHOUT_PAGE:
        return CaptureFault(
            "http",
            f"the page answered {status} {status_text(status)}: there is nothing to capture",
            step="navigate",
            http_status_code=status,
            http_status_text=status_text(status),
        )
    if error_text in ANSWERED_BADLY:
        return CaptureFault("http", f"{error_text}: the site redirects without end or badly", step="navigate")
    if error_text == "net::ERR_ABORTED" and status is None:
        return CaptureFault(
            "internal", "the browser gave the page up: its network service may have died", step="navigate"
        )
    return CaptureFault("connection", error_text or "the browser showed no page", step="navigate")


def broken_off(error_text: str, *, full_bytes: int | None) -> CaptureFault:
    """The page's own document began to come and did not end. `full_bytes`: one capture's limit, where that was why."""
    if full_bytes is not None:
        reason = f"the page is over {full_bytes} bytes, the limit of one capture (CAPTURE_MAX_TASK_BYTES)"
        return CaptureFault("policy", reason, step="load")
    if error_text in NOT_DECODED:
        return CaptureFault("http", f"{error_text}: the page's body is not what its Content-Encoding says", step="load")
    return CaptureFault("connection", f"{error_text or 'the connection'}: the page broke off", step="load")


def no_way_fault(outcome: Refused | Unreached) -> CaptureFault:
    """The page's host was not connected to."""
    if isinstance(outcome, Refused):
        return CaptureFault("policy", outcome.verdict.reason, step="navigate")
    return CaptureFault("connection", f"{outcome.error}: {outcome.detail}", step="navigate")


def is_download(status: int, content_type: str, disposition: str) -> bool:
    """Whether a browser saves a document response instead of showing it."""
    if not 200 <= status < 300 or status in (204, 205):
        return False
    if disposition.strip().lower().startswith("attachment"):
        return True
    kind = content_type.partition(";")[0].strip().lower()
    if not kind or kind in _VIEWED or kind.endswith(("+xml", "+json")):
        return False
    return kind.partition("/")[0] not in ("text", "image", "audio", "video")
