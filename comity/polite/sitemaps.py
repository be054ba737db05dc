"""Asking a host for one of its sitemaps: within limits of time and size, and never with an exception."""

from dataclasses import replace
from datetime import UTC, datetime

from comity.polite.bodies import Unpacker
from comity.polite.client import DEFAULT_USER_AGENT, FetchFailure, GetLimits, GuardedClient, Headers
from comity.polite.egress import Egress
from comity.polite.errors import NotAWebUrlError, UnreadableAnswerError
from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.proxies import ProxyRules
from comity.polite.rules.retry_after import retry_after_ms
from comity.polite.rules.robots import MAX_REDIRECTS, authority_of
from comity.polite.rules.sitemaps import LIMIT_BYTES, SitemapFetch, SitemapReader
from comity.polite.trust import TlsTrust

BUDGET = GetLimits(total_ms=60_000)
ACCEPT = "application/xml, text/xml, */*;q=0.5"
_GZIP_MAGIC = b"\x1f\x8b"
_DETAIL_CHARACTERS = 300


async def fetch_sitemap(
    url: str,
    *,
    user_agent: str = DEFAULT_USER_AGENT,
    budget: GetLimits = BUDGET,
    trust: TlsTrust | None = None,
    proxies: ProxyRules | None = None,
    egress: Egress | None = None,
) -> SitemapFetch:
    """Ask for the sitemap at `url`, plain or gzip. Redirects are followed within its host (URL authority) alone.

    Whatever the host does is in the value. Only cancellation passes through, and a `user_agent` without the token
    `comity` raises UserAgentError before anything is sent. `budget` gives the times.
    """
    limits = replace(budget, max_raw_bytes=LIMIT_BYTES, max_decoded_bytes=LIMIT_BYTES, max_redirects=MAX_REDIRECTS)
    file = _SitemapFile()
    egress = egress or Egress(EgressRules())
    async with GuardedClient(egress, user_agent=user_agent, trust=trust, proxies=proxies) as client:
        got = await client.get(url, headers={"Accept": ACCEPT}, limits=limits, on_redirect=_within_host, sink=file)
    if isinstance(got, FetchFailure):
        file.say(f"is over {LIMIT_BYTES} bytes" if got.code == "E_HTTP_BODY_TOO_LARGE" else got.message)
    else:
        file.finish()
    return SitemapFetch(url, file.reader.found, got.status, file.retry_after_ms)


def _within_host(before: str, target: str) -> str | None:
    try:
        if authority_of(target) == authority_of(before):
            return None
    except NotAWebUrlError:
        pass
    return f"redirected to another host: {target[:100]}"


class _SitemapFile:
    """Reads a sitemap as it comes, unpacked once more where it is a gzip file. What is wrong first is what is told."""

    def __init__(self) -> None:
        self.reader = SitemapReader()
        self.retry_after_ms: int | None = None
        self._unpacker: Unpacker | None = None
        self._begun = False
        self._size_bytes = 0

    def say(self, problem: str) -> None:
        """What is wrong, unless something was before."""
        found = self.reader.found
        found.problem = found.problem or " ".join(problem.split())[:_DETAIL_CHARACTERS]

    def begin(self, status: int, headers: Headers) -> bool:
        if status in (429, 503):
            self.retry_after_ms = retry_after_ms(headers.get("Retry-After"), datetime.now(UTC)) or 0
        if status != 200:
            self.say(f"HTTP {status}")
        return status == 200

    def feed(self, piece: bytes) -> bool:
        if not self._begun:
            self._begun = True
            self._unpacker = Unpacker() if piece.startswith(_GZIP_MAGIC) else None
        try:
            for part in self._unpacker.pieces(piece) if self._unpacker else (piece,):
                self._read(part)
                if self.reader.over:
                    return False
        except UnreadableAnswerError as error:
            self.say(str(error))
        return not self.reader.over

    def _read(self, part: bytes) -> None:
        self._size_bytes += len(part)
        if self._size_bytes > LIMIT_BYTES:
            raise UnreadableAnswerError(f"is over {LIMIT_BYTES} bytes")
        self.reader.feed(part)

    def finish(self) -> None:
        """All of it has come."""
        if self.reader.over:
            return
        try:
            if self._unpacker is not None:
                self._unpacker.finish()
        except UnreadableAnswerError as error:
            self.say(str(error))
        else:
            self.reader.finish()
