"""What a sitemap says (sitemaps.org protocol 0.9): bytes in, piece by piece, URLs out.

Pure. Fetching is `comity.polite.sitemaps`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

LIMIT_BYTES = 50 * 1024 * 1024
"""A sitemap is no longer than this, unpacked."""
MAX_URLS = 50_000
"""And has no more entries."""
MAX_LOC_CHARACTERS = 4096
_ENTRIES = {"urlset": "url", "sitemapindex": "sitemap"}


@dataclass(slots=True)
class Sitemap:
    """What was read so far: pages, and the sitemaps of an index. `problem` says why it is not all, else it is empty."""

    urls: list[str] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SitemapFetch:
    """What became of asking for a sitemap. `found` is what could be read, also of one that is broken further on."""

    url: str
    found: Sitemap
    http_status: int | None = None
    """Of the last answer; None where none came."""
    retry_after_ms: int | None = None
    """The host answered 429 or 503: how long it wants to be left alone, 0 where it did not say."""


class SitemapReader:
    """Reads one sitemap as it arrives, and holds no more of it than its URLs.

    Entities, external references and document type declarations are refused: a sitemap needs none, and they are how XML
    is made to explode. Whatever is wrong ends the reading; what was read before it stays.
    """

    def __init__(self) -> None:
        self.found = Sitemap()
        self._target = _Target(self.found)
        self._parser = DefusedXMLParser(target=self._target, forbid_dtd=True)

    @property
    def over(self) -> bool:
        """Nothing that comes now is read."""
        return bool(self.found.problem)

    def feed(self, piece: bytes) -> None:
        """The next bytes."""
        if not self.over:
            self._step(lambda: self._parser.feed(piece))

    def finish(self) -> Sitemap:
        """All that was read. A document that ended too early says so."""
        if not self.over:
            self._step(self._parser.close)
        return self.found

    def _step(self, step: Callable[[], object]) -> None:
        try:
            step()
        except _Enough as reason:
            self.found.problem = str(reason)
        except ParseError as error:
            self.found.problem = f"is not well-formed XML: {error}"
        except DefusedXmlException as error:
            self.found.problem = f"has what no sitemap needs: {type(error).__name__}"
        except (ValueError, LookupError) as error:  # an encoding that nobody knows
            self.found.problem = f"cannot be read: {error}"


class _Enough(Exception):  # noqa: N818  says what is so, not what went wrong
    """Nothing after this is wanted."""


class _Target:
    """Takes `urlset/url/loc` and `sitemapindex/sitemap/loc`, whatever the namespace; `image:loc` lies deeper."""

    def __init__(self, found: Sitemap) -> None:
        self._found = found
        self._path: list[str] = []
        self._text: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - a target's shape
        name = tag.rpartition("}")[2]
        if not self._path and name not in _ENTRIES:
            raise _Enough(f"is no sitemap: its root is <{name[:40]}>")
        self._path.append(name)
        if len(self._path) == 3 and name == "loc" and self._path[1] == _ENTRIES[self._path[0]]:
            self._text = []

    def data(self, text: str) -> None:
        if self._text is not None and len(self._text) < MAX_LOC_CHARACTERS:
            self._text.append(text)

    def end(self, tag: str) -> None:  # noqa: ARG002 - a target's shape
        self._path.pop()
        if self._text is None:
            return
        url, self._text = "".join(self._text).strip(), None
        into = self._found.urls if self._path[0] == "urlset" else self._found.sitemaps
        if url and len(url) <= MAX_LOC_CHARACTERS:
            if len(into) >= MAX_URLS:
                raise _Enough(f"has more than {MAX_URLS} entries")
            into.append(url)

    def close(self) -> None:
        """A target's shape."""
