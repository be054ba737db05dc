"""What a robots.txt means for a URL (RFC 9309).

Pure: what was fetched goes in, verdicts come out. Fetching is `comity.polite.robots`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin, urlsplit, urlunsplit

from protego import Protego

from comity.contract.web_address import browser_path
from comity.polite.errors import NotAWebUrlError, OriginError

TOKEN = "comity"  # noqa: S105 - the product token of RFC 9309, section 2.2.1; nothing secret
LIMIT_BYTES = 500 * 1024
"""So much is parsed, the rest is ignored (RFC 9309, section 2.5, asks for at least this)."""
MAX_SITEMAPS = 100
"""`Sitemap` lines that are read; nobody visits so many of one host."""
MAX_REDIRECTS = 5
"""RFC 9309, section 2.3.1.2."""
MAX_DELAY_MS = 10**12
"""Longer delays count as this one (31 years), so that an absurd number stays one that everybody can store."""

Outcome = Literal["found", "absent", "unreachable"]
Reason = Literal["robots-disallowed", "robots-unreachable"]


@dataclass(frozen=True, slots=True)
class RobotsFetch:
    """What became of asking one origin for its robots.txt. Picklable."""

    origin: str
    """`scheme://host[:port]`, lower case, without a default port."""
    outcome: Outcome
    """`found`: `body` holds its rules. `absent`: there are none. `unreachable`: nobody can tell."""
    body: bytes = b""
    """Decoded content, whole lines within the first 500 KiB."""
    truncated: bool = False
    """There was more than that."""
    http_status: int | None = None
    """Of the last answer; None where none came."""
    redirects: int = 0
    """How many were followed."""
    final_url: str | None = None
    """Where the last answer came from."""
    detail: str = ""
    """Why it is `absent` or `unreachable`, in one line."""


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """May this URL be visited? `reason` and `detail` say why not."""

    url: str
    allowed: bool
    reason: Reason | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RobotsRuling:
    """One robots.txt applied: a verdict for each URL in the order asked, and the delay that the host wants."""

    origin: str
    verdicts: tuple[RobotsVerdict, ...]
    crawl_delay_ms: int | None
    """None: it asks for none. 0 is an answer too."""
    sitemaps: tuple[str, ...] = ()
    """Absolute URLs of its `Sitemap` lines (sitemaps.org), whoever they speak to."""


def origin_of(url: str) -> str:
    """The origin whose robots.txt speaks for `url` (RFC 6454): scheme, host and port.

    Raises `NotAWebUrlError` for anything but http(s) with a host.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").lower()
    except ValueError as error:
        raise NotAWebUrlError(url) from error
    if parts.scheme not in ("http", "https") or not host:
        raise NotAWebUrlError(url)
    shown = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{shown}" if port in (None, default) else f"{parts.scheme}://{shown}:{port}"


def authority_of(url: str) -> str:
    """Host, and port where it is not the scheme's own: what is visited one at a time. Raises `NotAWebUrlError`."""
    return origin_of(url).partition("://")[2]


def origins_of(urls: Iterable[str]) -> tuple[str, ...]:
    """The origins of these URLs, each once, in order of first appearance."""
    return tuple(dict.fromkeys(origin_of(url) for url in urls))


def outcome_of_status(status: int) -> Outcome:
    """What a final answer's status means (RFC 9309, section 2.3.1).

    4xx means that there are no rules; 429 does not, it is the host asking for quiet. Whatever is neither 2xx nor 4xx
    (5xx, a redirect that cannot be followed) leaves the rules unknown.
    """
    if 200 <= status < 300:
        return "found"
    if 400 <= status < 500 and status != 429:
        return "absent"
    return "unreachable"


def within_limit(content: bytes) -> tuple[bytes, bool]:
    """The part that is parsed, and whether some was left out.

    `content` needs to hold no more than `LIMIT_BYTES + 1`. A line that the limit cuts is left out whole: half of
    `Disallow: /private` is a rule that nobody wrote.
    """
    if len(content) <= LIMIT_BYTES:
        return content, False
    kept = content[:LIMIT_BYTES]
    if kept.endswith((b"\n", b"\r")) or content[LIMIT_BYTES : LIMIT_BYTES + 1] in (b"\n", b"\r"):
        return kept, True
    return kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1], True


def judge(fetch: RobotsFetch, urls: Sequence[str], *, token: str = TOKEN) -> RobotsRuling:
    """Apply a robots.txt to URLs of its origin, as the product `token`, else as anybody (`*`).

    Raises `OriginError` for a URL of another origin, `NotAWebUrlError` for one that has none.
    """
    for url in urls:
        if origin_of(url) != fetch.origin:
            raise OriginError(url, fetch.origin)
    if fetch.outcome == "unreachable":
        refusals = (RobotsVerdict(url, False, "robots-unreachable", fetch.detail) for url in urls)
        return RobotsRuling(fetch.origin, tuple(refusals), None)
    if fetch.outcome == "absent":
        return RobotsRuling(fetch.origin, tuple(RobotsVerdict(url, True) for url in urls), None)
    rules = Protego.parse(addressed_to(token, fetch.body.decode("utf-8-sig", errors="replace")))
    verdicts = tuple(_verdict(rules, url, token, fetch.origin) for url in urls)
    return RobotsRuling(fetch.origin, verdicts, delay_ms(rules.crawl_delay(token)), _sitemaps(rules, fetch.origin))


def _sitemaps(rules: Protego, origin: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in rules.sitemaps:
        try:
            url = urljoin(f"{origin}/", line.strip())  # the protocol wants it absolute; what is meant is plain
            origin_of(url)
        except ValueError:
            continue
        found[url] = None
        if len(found) >= MAX_SITEMAPS:
            break
    return tuple(found)


def _verdict(rules: Protego, url: str, token: str, origin: str) -> RobotsVerdict:
    try:
        allowed = rules.can_fetch(_as_asked_for(url), token)
    except ValueError as error:  # a lone surrogate, say: where no rule can be matched none can be kept
        return RobotsVerdict(url, False, "robots-disallowed", f"no rule can be matched against this URL: {error}")
    if allowed:
        return RobotsVerdict(url, True)
    return RobotsVerdict(url, False, "robots-disallowed", f"forbidden by {origin}/robots.txt")


def _as_asked_for(url: str) -> str:
    """The URL with the path that goes into the request: `/open/../closed` is `/closed` on its way."""
    parts = urlsplit(url)
    path = browser_path(parts.path)
    return url if path == (parts.path or "/") else urlunsplit(parts._replace(path=path))


def delay_ms(seconds: float | None) -> int | None:
    """A Crawl-delay in whole milliseconds, rounded up; None for none, negative or non-finite ones."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return None
    # Rounding first keeps 1.1 s at 1100 ms: 1.1 * 1000 is a little more than 1100.
    return math.ceil(round(min(seconds, MAX_DELAY_MS / 1000) * 1000, 3))


_AGENT_LINE = re.compile(r"\s*user(?:-|\s+)?agent\s*(?::|\s)\s*(?P<agent>[^#]*)", re.IGNORECASE)
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_TOKEN_CHARACTERS = re.compile(r"[A-Za-z_-]+")
_NOBODY = "-"


def addressed_to(token: str, text: str) -> str:
    """The same rules, with every User-agent line saying `token`, `*` or nobody.

    RFC 9309 (section 2.2.1) compares product tokens whole and without regard to case. The parser would take `com` for
    the beginning of `comity` and would not know `comity/2.0`; it also ends lines at characters that the RFC does
    not count as line ends.
    """
    lines = []
    for raw in _LINE_ENDS.split(text):
        line = " ".join(raw.splitlines())
        found = _AGENT_LINE.match(line)
        lines.append(f"User-agent: {_addressee(found['agent'].strip(), token)}" if found else line)
    return "\n".join(lines)


def _addressee(agent: str, token: str) -> str:
    if agent == "*":
        return "*"
    name = _TOKEN_CHARACTERS.match(agent)
    return token if name and name[0].lower() == token.lower() else _NOBODY
