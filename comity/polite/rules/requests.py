"""What is sent with a request, and what of it goes along with a redirect.

A caller's own headers go with every request; those of a session with the first only. `Authorization` and `Cookie`,
whichever they came with, go on to the same domain and its subdomains, never from https to http, and once they were left
behind they stay there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from comity.polite.rules.targets import Target

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_IN_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\x7f]|^[ \t]|[ \t]$")
_BAD_IN_COOKIE = re.compile(r"[\x00-\x20\x7f\",;\\]|[^\x00-\x7e]")
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect",
     "accept-encoding", "proxy-authorization", "proxy-connection", "keep-alive"}
)  # fmt: skip
_SENSITIVE = ("authorization", "cookie")
MAX_BYTES = 64 * 1024


class BadRequestError(ValueError):
    """What the caller wants sent cannot be sent. Names the header; never its value."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The headers of one request, by lower-case name."""

    headers: Mapping[str, str]
    always: Mapping[str, str]
    """What goes with every request, credentials left out."""
    home: str = ""
    """The host that the credentials are for; empty: there are none."""

    def after(self, before: Target, target: Target) -> "Outgoing":
        """What goes along from one request to the next."""
        follows = self.home and _belongs(target, self.home) and not (before.scheme == "https" > target.scheme)
        if not follows:
            return self if self.headers is self.always else replace(self, headers=self.always, home="")
        kept = {name: self.headers[name] for name in _SENSITIVE if name in self.headers}
        return replace(self, headers={**self.always, **kept})


def outgoing(
    target: Target, headers: Mapping[str, str], session_headers: Mapping[str, str], cookies: Mapping[str, str]
) -> Outgoing:
    """The first request's headers; a session's beat the caller's own. Raises BadRequestError."""
    if not headers and not session_headers and not cookies:
        return _NOTHING
    own, of_session = _checked(headers), _checked(session_headers)
    always = {name: value for name, value in own.items() if name not in _SENSITIVE}
    first = {**own, **of_session}
    if cookies:
        pairs = "; ".join(f"{name}={value}" for name, value in cookies.items() if _is_cookie(name, value))
        first["cookie"] = f"{first['cookie']}; {pairs}" if "cookie" in first else pairs
    if sum(len(name) + len(value) + 4 for name, value in first.items()) > MAX_BYTES:
        raise BadRequestError(f"the headers have over {MAX_BYTES} bytes, which no server takes; send fewer")
    if first == always:
        return Outgoing(always, always)
    sensitive = any(name in first for name in _SENSITIVE)
    return Outgoing(first, always, target.host.removesuffix(".") if sensitive else "")


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers.items():
        lower = name.lower()
        if not _NAME.fullmatch(name):
            raise BadRequestError(f"{name[:60]!r} is no name of a header")
        if lower in _OURS:
            raise BadRequestError(f"the header {name[:60]} is not the caller's to set; leave it out")
        if lower in found:
            raise BadRequestError(f"the header {name[:60]} is there twice; join its values")
        if _BAD_IN_VALUE.search(value):
            raise BadRequestError(
                f"the value of the header {name[:60]} has a line end, a control character, a space around it, or "
                "what is not ASCII; encode it"
            )
        found[lower] = value
    return found


def _is_cookie(name: str, value: str) -> bool:
    if not _NAME.fullmatch(name):
        raise BadRequestError(f"{name[:60]!r} is no name of a cookie")
    if _BAD_IN_COOKIE.search(value):
        raise BadRequestError(f"the value of the cookie {name[:60]} has what RFC 6265 forbids there; encode it")
    return True


def _belongs(target: Target, home: str) -> bool:
    host = target.host.removesuffix(".")
    return host == home or (target.literal is None and host.endswith(f".{home}"))


_NOTHING = Outgoing({}, {})
