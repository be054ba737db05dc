"""One fetch under way: how far it came, until when each step may take, where it may be led, and how it ends."""

import asyncio
import inspect
from dataclasses import dataclass, field

import aiohttp

from comity.polite.answers import BodySink, FetchCode, Fetched, FetchFailure, GetLimits, Headers, RedirectHook
from comity.polite.bodies import Body, TooLargeError, unpacker_for
from comity.polite.connector import Ride
from comity.polite.errors import UnreadableAnswerError
from comity.polite.rules.targets import BadUrlError, Target, redirect_target

MESSAGE_CHARACTERS = 400


class FailedError(Exception):
    """Ends a fetch; becomes its FetchFailure."""

    def __init__(self, code: FetchCode, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Fetch:
    """One fetch under way, and how far it came."""

    url: str
    limits: GetLimits
    on_redirect: RedirectHook | None
    sink: BodySink | None
    posted: bytes | None = None
    """Sent in a POST; None for a GET."""
    at: str = ""
    redirects: list[str] = field(default_factory=list)
    status: int | None = None
    ride: Ride = field(default_factory=Ride)
    _clock: asyncio.Timeout | None = None
    _ends_s: float = 0
    _until_s: float = 0

    def start(self, clock: asyncio.Timeout) -> None:
        """The time for everything runs from here."""
        self._clock = clock
        self._ends_s = asyncio.get_running_loop().time() + self.limits.total_ms / 1000

    def ask(self, target: Target) -> None:
        """A request goes out: the time for its head runs."""
        self.at, self.status = target.url, None
        until_s = asyncio.get_running_loop().time() + self.limits.first_byte_ms / 1000
        self._expect(min(until_s, self._ends_s))

    def _expect(self, until_s: float) -> None:
        self._until_s = until_s
        if self._clock is not None:
            self._clock.reschedule(until_s)

    @property
    def lateness(self) -> str:
        """Which limit it was that ran out."""
        if self._until_s < self._ends_s:
            return f"{self.at[:200]}: no answer within {self.limits.first_byte_ms} ms"
        return f"{self.at[:200]}: not finished within {self.limits.total_ms} ms"

    def redirected(self, before: Target, location: str) -> Target:
        """Where the redirect leads, if it may be followed. Raises FailedError."""
        self._expect(self._ends_s)
        if len(self.redirects) >= self.limits.max_redirects:
            raise FailedError("E_HTTP_FETCH", f"{self.url[:200]}: more than {self.limits.max_redirects} redirects")
        try:
            target = redirect_target(before.url, location)
        except BadUrlError as error:
            raise FailedError(
                "E_URL_POLICY", f"{before.url[:200]}: redirected to {location[:100]!r}, which {error}"
            ) from error
        return target

    async def ask_caller(self, before: Target, target: Target) -> None:
        """Let the caller's hook refuse the redirect. Raises FailedError."""
        if self.on_redirect is None:
            return
        verdict = self.on_redirect(before.url, target.url)
        reason = await verdict if inspect.isawaitable(verdict) else verdict
        if reason is not None:
            raise FailedError("E_URL_POLICY", f"{before.url[:200]}: {reason}")

    async def read(self, response: aiohttp.ClientResponse) -> Fetched:
        """The final answer. Raises FailedError."""
        headers, content = Headers(response.headers), response.content
        body, kept = Body(self.limits, self.sink), b""
        if not content.is_eof():  # a small body often comes with its head, and waits for nothing
            self._expect(self._ends_s)
        try:
            if self.sink is None or self.sink.begin(response.status, headers):
                kept = await body.read(content, unpacker_for(headers), headers.get("Content-Length"))
            else:
                body.truncated = not content.at_eof()
        except TooLargeError as error:
            raise FailedError("E_HTTP_BODY_TOO_LARGE", f"{self.at[:200]}: {error}") from error
        except UnreadableAnswerError as error:
            raise FailedError("E_HTTP_READ", f"{self.at[:200]}: {error}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise FailedError("E_HTTP_READ", f"{self.at[:200]}: {cause_of(error)}") from error
        if body.truncated:
            response.close()
        elif not response.closed:
            response.release()
        redirects, address = tuple(self.redirects), self.ride.address
        return Fetched(
            self.url, self.at, response.status, headers, kept, body.truncated, redirects, body.raw_bytes, address
        )

    def failure(self, code: FetchCode, message: str) -> FetchFailure:
        """The end, badly."""
        line = " ".join(message.split())[:MESSAGE_CHARACTERS]
        return FetchFailure(code, line, self.url, self.at, tuple(self.redirects), self.status)


def cause_of(error: BaseException) -> str:
    """The innermost cause in words: the outermost often says only that something failed."""
    while (inner := error.__cause__) is not None:
        error = inner
    return f"{type(error).__name__}: {error}".removesuffix(": ")
