"""Pages of programs that want a browser, by the capture servers of a running stack."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from blocks.clients.capture import CaptureClient
from blocks.clients.errors import (
    AnswerUnreadable,
    CaptureBusy,
    DeadlinePassed,
    HungUp,
    ServiceError,
    ServiceUnreachable,
)
from comity.cli.data_folder import DataFolder
from comity.cli.errors import CliError
from comity.cli.stack.remote import require_stack
from comity.contract.capture import CALLER_DEADLINE_MS, CaptureAnswer, CaptureFormats, CaptureReport, CaptureRequest
from comity.extract import Failure
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.bucket import Bucket
from ledger.artifacts.folder import Folder
from ledger.artifacts.place import NotRead, Place
from ledger.artifacts.s3_settings import S3Settings

MAX_HTML_BYTES = 64 * 1024 * 1024
"""A page of 32 MiB may grow while its scripts run."""
BUSY_PAUSE_S = 1.0
_CODES = {"timeout": "E_TIMEOUT", "http_error": "E_HTTP_STATUS", "failed": "E_BROWSER_NAVIGATE"}


class CapturedPages:
    """A `BrowserPages`: one `POST /captures` with `html` for each page. Servers take turns; each has one browser."""

    def __init__(self, servers: Sequence[CaptureClient], artifacts: Artifacts) -> None:
        self._servers = list(servers)
        self._artifacts = artifacts

    async def load(self, url: str, *, timeout_ms: int) -> str | Failure:
        """See `BrowserPages.load`."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._load, url, time.monotonic() + timeout_ms / 1000, stop)
        except asyncio.CancelledError:
            stop.set()  # the thread hangs up within a second, and the server closes the page
            raise

    def _load(self, url: str, ends_at_s: float, stop: threading.Event) -> str | Failure:
        while True:
            answer = self._ask_each(url, ends_at_s, stop)
            if answer is not None:
                return answer
            if time.monotonic() + BUSY_PAUSE_S >= ends_at_s or stop.wait(BUSY_PAUSE_S):
                return Failure(
                    "E_BROWSER_ACQUIRE", "every capture server is at another page; try again, or wait longer"
                )

    def _ask_each(self, url: str, ends_at_s: float, stop: threading.Event) -> str | Failure | None:
        """The page or why there is none; None where every server is busy."""
        asked = CaptureRequest(url=url, capture_formats=_HTML)
        lost: ServiceError | None = None
        for server in list(self._servers):
            left_ms = max(1, round((ends_at_s - time.monotonic()) * 1000))
            try:
                answer = server.capture(asked, stop=stop, deadline_ms=min(left_ms, CALLER_DEADLINE_MS))
            except CaptureBusy:
                continue
            except ServiceUnreachable as error:
                lost = error
                continue
            except DeadlinePassed:
                return Failure("E_TIMEOUT", f"{url[:200]}: the browser was not done in time")
            except HungUp:
                return Failure("E_EXECUTION_CANCELED", "the caller ended the extraction")
            except (AnswerUnreadable, ServiceError) as error:
                return Failure("E_BROWSER_NAVIGATE", str(error))
            self._servers.append(self._servers.pop(self._servers.index(server)))
            return self._html(answer)
        return Failure("E_BROWSER_ACQUIRE", str(lost)) if lost is not None else None

    def _html(self, answer: CaptureAnswer) -> str | Failure:
        report = answer.report
        if report.status != "success" or report.artifacts.html is None:
            return _failure(report)
        try:
            return self._artifacts.read(report.artifacts.html, MAX_HTML_BYTES).decode()
        except (NotRead, UnicodeDecodeError) as error:
            said = f"{report.artifacts.html}: the page that the capture server kept cannot be read here: {error}"
            return Failure("E_BROWSER_READ", said)


_HTML = CaptureFormats(png=False, webp=False, html=True, links=False, mhtml=False, wacz=False)


@contextmanager
def pages_of_stack(data: DataFolder) -> Iterator[CapturedPages]:
    """The browsers of the stack that runs on the folder. Raises NoStack where none does, CliError."""
    stack = require_stack(data)
    try:
        token = (data.secrets / "capture").read_text().strip()
    except OSError as error:
        raise CliError(f"{error.filename}: the capture servers' token cannot be read ({error.strerror})") from None
    clients = [CaptureClient(str(url), token, "") for url in stack.addresses["captures"]]
    try:
        yield CapturedPages(clients, Artifacts(_places(data)))
    finally:
        for client in clients:
            client.close()


def _places(data: DataFolder) -> list[Place]:
    settings = S3Settings()
    return [Folder(data.artifacts), *([Bucket(settings)] if settings.bucket else [])]


def _failure(report: CaptureReport) -> Failure:
    said = report.error_details
    code = "E_URL_POLICY" if said is not None and said.type == "policy" else _CODES.get(report.status, "E_BROWSER_READ")
    return Failure(code, f"{report.url}: {said.message if said is not None else report.status}")
