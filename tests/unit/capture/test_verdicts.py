"""What the browser and the site say, and what the report makes of it."""

from datetime import UTC, datetime

import pytest

from comity.capture.verdicts import broken_off, http_error, is_download, navigation_fault
from comity.polite.rules.retry_after import retry_after_ms

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
YEAR_MS = 366 * 24 * 3600 * 1000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        ("0", 0),
        (" 120 ", 120_000),
        ("Thu, 31 Jan 2030 12:01:00 GMT", 60_000),
        ("Thu, 31 Jan 2030 11:59:00 GMT", 0),
        ("99999999999999999999", YEAR_MS),
        ("Fri, 31 Dec 9999 23:59:59 GMT", YEAR_MS),
        ("-1", None),
        ("1.5", None),
        ("١", None),
        ("soon", None),
        ("Thu, 99 Jan 2030 12:01:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, expected: int | None) -> None:
    assert retry_after_ms(value, NOW) == expected


@pytest.mark.parametrize(
    ("text", "status", "kind", "outcome"),
    [
        ("net::ERR_CONNECTION_REFUSED", None, "connection", "failed"),
        ("net::ERR_NAME_NOT_RESOLVED", None, "connection", "failed"),
        ("net::ERR_CERT_AUTHORITY_INVALID", None, "connection", "failed"),
        ("net::ERR_TOO_MANY_REDIRECTS", 302, "http", "failed"),
        ("net::ERR_ABORTED", 204, "http", "failed"),
        ("net::ERR_ABORTED", 304, "http", "failed"),
        ("net::ERR_BLOCKED_BY_CLIENT", None, "policy", "failed"),
        ("net::ERR_HTTP_RESPONSE_CODE_FAILURE", 500, "http", "http_error"),
        ("net::ERR_ABORTED", 404, "http", "http_error"),
        ("net::ERR_ABORTED", None, "internal", "failed"),
        ("", None, "connection", "failed"),
    ],
)
def test_navigation_that_fails_has_its_kind(text: str, status: int | None, kind: str, outcome: str) -> None:
    fault = navigation_fault(text, status)
    assert (fault.kind, fault.status) == (kind, outcome)
    assert fault.message


@pytest.mark.parametrize(
    ("text", "full_bytes", "kind", "said"),
    [
        ("net::ERR_CONTENT_LENGTH_MISMATCH", None, "connection", "broke off"),
        ("", None, "connection", "broke off"),
        ("net::ERR_CONTENT_DECODING_FAILED", None, "http", "Content-Encoding"),
        ("net::ERR_INTERNET_DISCONNECTED", 1000, "policy", "over 1000 bytes"),
    ],
)
def test_page_that_broke_off_has_its_kind(text: str, full_bytes: int | None, kind: str, said: str) -> None:
    fault = broken_off(text, full_bytes=full_bytes)
    assert (fault.kind, fault.status) == (kind, "failed")
    assert said in fault.message


def test_http_error_tells_code_and_phrase() -> None:
    details = http_error(404).details()
    assert (details.http_status_code, details.http_status_text, details.step) == (404, "Not Found", "navigate")
    assert http_error(799).message == "the page answered 799"


@pytest.mark.parametrize(
    ("status", "content_type", "disposition", "expected"),
    [
        (200, "text/html", "", False),
        (200, "text/html", "Attachment; filename=a", True),
        (200, "text/html", "inline", False),
        (200, "application/zip", "", True),
        (200, "application/pdf", "", True),
        (200, "Image/PNG", "", False),
        (200, "application/atom+xml; charset=x", "", False),
        (200, "", "", False),
        (404, "application/zip", "attachment", False),
        (204, "", "attachment", False),
        (206, "application/octet-stream", "", True),
    ],
)
def test_download_is_what_a_browser_saves(status: int, content_type: str, disposition: str, expected: bool) -> None:
    assert is_download(status, content_type, disposition) is expected
