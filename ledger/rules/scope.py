"""Which URLs a crawl may visit. URLs are compared, never rewritten: only the fragment is dropped."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import SplitResult, urlsplit

from comity.contract.ledger import Scope
from comity.contract.web_address import browser_path, web_url
from ledger.rules.domains import registered_domain

MAX_URL_BYTES = 2048
"""Longer URLs are not visited: the limit of the sitemap protocol (sitemaps.org), and one that databases can index."""

ORIGIN = re.compile(r"[^:/?#]+://[^/?#]*")
"""Scheme and authority (RFC 3986, appendix B)."""
ORIGINS_KEPT = 4096

DEFAULT_PORTS = {"http": 80, "https": 443}


def without_fragment(url: str) -> str:
    """The URL up to its `#`, otherwise untouched (RFC 3986, 3.5)."""
    return url.split("#", 1)[0]


def frontier_url(value: str) -> str:
    """The URL as it enters a frontier: http(s), with a host, without its fragment.

    Raises ValueError that says what is wrong with it.
    """
    url = without_fragment(web_url(value))
    if urlsplit(url).username is not None:
        raise ValueError("carries credentials; a URL is stored and shown, so they do not belong in it")
    try:
        size_bytes = len(url.encode("utf-8"))
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode") from None
    if size_bytes > MAX_URL_BYTES:
        raise ValueError(f"is over {MAX_URL_BYTES} bytes")
    return url


def _host_name(parts: SplitResult) -> str:
    """Lower case, IDNA where that can be told, IPv6 in its short form, without the trailing dot of a full DNS name."""
    name = (parts.hostname or "").rstrip(".")
    if ":" in name:
        try:
            return IPv6Address(name).compressed
        except AddressValueError:
            return name
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return name
    return name.rstrip(".")


def _port(parts: SplitResult) -> int | None:
    return parts.port if parts.port is not None else DEFAULT_PORTS.get(parts.scheme)


def _origin_text(url: str) -> str:
    """The URL up to its path, as it is written: 100,000 links of a level have few of these, and each is read once."""
    found = ORIGIN.match(url)
    return found[0] if found else url


def authority(url: str) -> str:
    """The host that a visit touches: name, and port where it is not the scheme's own (RFC 9110, 4.2.3)."""
    return _authority(_origin_text(url))


@lru_cache(ORIGINS_KEPT)
def _authority(origin: str) -> str:
    parts = urlsplit(origin)
    name = _host_name(parts)
    name = f"[{name}]" if ":" in name else name
    port = _port(parts)
    return name if port == DEFAULT_PORTS.get(parts.scheme) else f"{name}:{port}"


@lru_cache(ORIGINS_KEPT)
def _key(scope: Scope, origin: str) -> tuple[str, str, int | None]:
    parts = urlsplit(origin)
    if scope == "same-host":
        return ("", _host_name(parts), None)
    if scope == "same-domain":
        host = _host_name(parts)
        return ("", registered_domain(host) or host, None)
    return (parts.scheme, _host_name(parts), _port(parts))


def _folder(url: str) -> str:
    path = browser_path(urlsplit(url).path)
    return path[: path.rindex("/") + 1]


class ScopeJudge:
    """Tells whether a URL lies in scope of the crawl's roots.

    A root is where a seed led: its final URL after redirects, or the seed itself where it was not captured. A page
    further down that redirects elsewhere adds no root, so a redirector on the site cannot carry the crawl away.

    `same-origin`: scheme, host and port of a root (RFC 6454). `same-host`: its host name, whatever scheme and port.
    `same-domain`: a host below the same registered domain, whatever scheme and port; of a root without one (an IP
    address, `localhost`), its host alone. `prefix`: its origin, and a path below the folder that the root lies in.
    """

    def __init__(self, scope: Scope, roots: Sequence[str]) -> None:
        self._scope = scope
        self._folders: dict[tuple[str, str, int | None], list[str]] = {}
        for root in roots:
            folder = _folder(root) if scope == "prefix" else "/"
            self._folders.setdefault(_key(scope, _origin_text(root)), []).append(folder)

    def allows(self, url: str) -> bool:
        """True where the crawl may visit the URL. An unreadable one is never allowed."""
        try:
            folders = self._folders.get(_key(self._scope, _origin_text(url)))
            if folders is None or self._scope != "prefix":
                return folders is not None
            path = browser_path(urlsplit(url).path)
        except ValueError:
            return False
        return any(path.startswith(folder) for folder in folders)
