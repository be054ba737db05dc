"""Web addresses as a browser reads them (WHATWG URL), where that differs from the letter of the text.

Politeness counts visits by host and robots.txt is asked by path, both before the browser sees the URL. A spelling that
the browser turns into another host or another path would slip past both: `http://2130706433/` is 127.0.0.1, and
`/open/../closed` is `/closed`. Hosts of such a spelling are refused; paths are judged as they will be asked for.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

_SPACE_OR_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_ONE_DOT, _TWO_DOTS = frozenset({".", "%2e"}), frozenset({"..", ".%2e", "%2e.", "%2e%2e"})


def web_url(value: str) -> str:
    """An absolute http(s) URL whose host means to a browser what it says. Raises ValueError that says what is wrong."""
    if _SPACE_OR_CONTROL.search(value):  # a crawl asks this of every link: one character at a time it was most of it
        raise ValueError("a URL has no spaces or control characters; percent-encode them")
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"not a URL: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError("must begin with http:// or https://")
    if not host:
        raise ValueError("has no host")
    _check_host(parts, host)
    return value


def _check_host(parts: SplitResult, host: str) -> None:
    if "\\" in parts.netloc:
        raise ValueError("has a backslash in its host, which a browser reads as a slash; write the slash")
    if "[" in parts.netloc:
        try:
            if IPv6Address(host).scope_id is None:
                return
        except AddressValueError:
            pass
        raise ValueError(f"its host [{host[:100]}] is not an IPv6 address (without zone)")
    if "%" in host:
        raise ValueError(f"its host {host[:100]} is percent-encoded; write the host itself")
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise ValueError(f"its host {host[:100]!r} is no name that DNS can hold (RFC 3490)") from None
    name = name.removesuffix(".")
    if not _NUMBER.fullmatch(name.rpartition(".")[2]):
        return
    try:
        IPv4Address(name)
    except AddressValueError:
        raise ValueError(
            f"its host {host[:100]} ends in a number; write an IPv4 address as four decimal ones"
        ) from None


def is_loopback(host: str) -> bool:
    """Whether a host, as its own settings spell it, is this machine alone: `localhost`, or a loopback address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def browser_path(path: str) -> str:
    """The path that a browser asks for: backslashes are slashes, `.` and `..` are resolved, also as `%2e`.

    Everything else stays as it is. An empty path is `/`.
    """
    kept: list[str] = []
    *folders, last = path.replace("\\", "/").removeprefix("/").split("/")
    for segment in folders:
        if segment.lower() in _TWO_DOTS:
            del kept[-1:]
        elif segment.lower() not in _ONE_DOT:
            kept.append(segment)
    if last.lower() in _TWO_DOTS:
        del kept[-1:]
        last = ""
    elif last.lower() in _ONE_DOT:
        last = ""
    return "/" + "/".join([*kept, last])
