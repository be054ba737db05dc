"""Which host a URL really names, and what is asked of it: the URL of a caller, or the `Location` of an answer.

Both are read as browsers read them (WHATWG URL): `http://0x7f.1/` is 127.0.0.1 and `/open/../closed` is `/closed`. What
is judged, dialled and sent is one and the same `Target`; nothing reads the URL a second time.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urljoin, urlsplit

import idna

from comity.contract.web_address import browser_path
from comity.polite.rules.literals import BadHostError, canonical_host, literal_address
from comity.polite.rules.special_purpose import Address

MAX_URL_CHARACTERS = 16_384
"""More than servers take; a longer one is a mistake or an attack."""
PORTS = {"http": 80, "https": 443}
_SPACE_OR_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_IN_PATH = "%/:@!$&'()*+,;=-._~[]|^"
_IN_QUERY = _IN_PATH + "?`{}\\"
_MAX_NAME = 254


class BadUrlError(ValueError):
    """No request can be made of the URL. Says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Target:
    """One request's URL, in parts."""

    scheme: str
    """`http` or `https`."""
    host: str
    """A name in ASCII, lower case; or an address in its plain spelling, without brackets."""
    port: int
    url: str
    """Absolute, ASCII, without user, password and fragment; percent-encodings as they came."""
    literal: Address | None = None
    """The address that `host` is, None for a name."""
    password: bool = False
    """The text had a user or password before its host. They are never sent."""


@lru_cache(maxsize=4096)
def target_of(url: str) -> Target:
    """What a caller's URL asks for. Raises BadUrlError; a URL with a user or password is one too."""
    target = _read(url)
    if target.password:
        raise BadUrlError("has a user or password in it, which logs would show; send an Authorization header instead")
    return target


def redirect_target(base: str, location: str) -> Target:
    """Where the `Location` of an answer to `base` leads. A user or password in it is dropped: a stranger chose them.

    `location` may hold bytes that are not UTF-8 as surrogates (`surrogateescape`). Raises BadUrlError.
    """
    if len(location) > MAX_URL_CHARACTERS:
        raise BadUrlError(f"has over {MAX_URL_CHARACTERS} characters")
    asked = location.strip("\t\n\f\r ")
    # Browsers pass over tabs and line ends in a URL, and encode its spaces and raw bytes.
    asked = asked.replace("\t", "").replace("\r", "").replace("\n", "").replace(" ", "%20")
    try:
        asked = "".join(each if each < "\x80" else _encoded(each) for each in asked)
        joined = urljoin(base, asked.replace("\\", "/") if asked[:2] in ("\\\\", "/\\", "\\/") else asked)
    except ValueError as error:
        raise BadUrlError(f"is not a web address: {error}") from None
    return _read(joined)


def _encoded(character: str) -> str:
    """A character of a host stays, for IDNA; the path's are encoded later on. Raw bytes are encoded here."""
    if "\udc80" <= character <= "\udcff":
        return quote(character.encode("utf-8", "surrogateescape"))
    return character


def _read(url: str) -> Target:
    if len(url) > MAX_URL_CHARACTERS:
        raise BadUrlError(f"has over {MAX_URL_CHARACTERS} characters")
    if _SPACE_OR_CONTROL.search(url):
        raise BadUrlError("has spaces or control characters; percent-encode them")
    try:
        parts = urlsplit(url)
        port = parts.port
        hostname = parts.hostname
    except ValueError as error:
        raise BadUrlError(f"is not a web address: {error}") from None
    if parts.scheme not in PORTS:
        raise BadUrlError("is not a web address: it must begin with http:// or https://")
    if not hostname:
        raise BadUrlError("is not a web address: it has no host")
    if port == 0:
        raise BadUrlError("has port 0, which nobody listens on")
    if "\\" in parts.netloc:
        raise BadUrlError("has a backslash in its host, which a browser reads as a slash; write the slash")
    host, literal = _host(hostname, bracketed="[" in parts.netloc)
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port in (None, PORTS[parts.scheme]) else f"{shown}:{port}"
    try:
        path = quote(browser_path(parts.path), safe=_IN_PATH)
        # urlsplit does not tell an empty query from none; a server may.
        query = f"?{quote(parts.query, safe=_IN_QUERY)}" if "?" in url.partition("#")[0] else ""
    except UnicodeEncodeError:
        raise BadUrlError("holds half of a character (a lone surrogate)") from None
    return Target(
        parts.scheme,
        host,
        port or PORTS[parts.scheme],
        f"{parts.scheme}://{authority}{path}{query}",
        literal,
        password="@" in parts.netloc,
    )


def _host(hostname: str, *, bracketed: bool) -> tuple[str, Address | None]:
    if bracketed and "%" in hostname:
        raise BadUrlError("names a zone of this machine in its host; leave the zone out")
    try:
        literal = literal_address(f"[{hostname}]" if bracketed else hostname)
    except (BadHostError, ValueError) as error:
        raise BadUrlError(f"has no host that can be visited: {error}") from None
    if literal is not None:
        return str(literal), literal
    name = canonical_host(hostname)
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError) as error:
            raise BadUrlError(f"has a host that is no name (IDNA): {error}") from None
    if hostname.endswith(".") and not name.endswith("."):
        name += "."
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        raise BadUrlError(f"has a host that is no name: {hostname[:100]!r}")
    return name, None
