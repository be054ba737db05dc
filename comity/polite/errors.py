"""What this room raises.

    PoliteError
    ├── NotAWebUrlError       a URL that is not http(s) with a host
    ├── OriginError           a verdict was asked of another origin's robots.txt
    ├── UserAgentError        a User-Agent that robots.txt could not address
    ├── AddressRefusedError   no address of a host may be visited; carries the verdict
    ├── LookupFailedError     a name has no address, or not within its budget
    ├── ConnectFailedError    no connection to a host, or none that TLS can vouch for
    ├── CharsetError          a page's bytes are not the text that they say they are; carries the code
    └── UnreadableAnswerError an answer that is not what was asked for; never leaves the room

A host that does not answer, or answers badly, is never an exception here: it is a value that says so.
"""

from comity.polite.rules.addresses import AddressVerdict


class PoliteError(Exception):
    """Root of this room's errors."""


class CharsetError(PoliteError, ValueError):
    """The bytes of a page cannot be text. `code` is E_HTML_DECODE or E_HTML_CHARSET_UNSUPPORTED."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotAWebUrlError(PoliteError, ValueError):
    """The URL has no http(s) origin."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url[:200]!r} is not an http:// or https:// URL with a host; give one that is")


class OriginError(PoliteError, ValueError):
    """One robots.txt speaks for one origin only (RFC 9309, section 2.3)."""

    def __init__(self, url: str, origin: str) -> None:
        super().__init__(
            f"{url[:200]!r} is not of the origin {origin!r}, whose robots.txt this is; fetch its own origin's"
        )


class UserAgentError(PoliteError, ValueError):
    """The User-Agent lacks the product token that robots.txt files address, or cannot be sent."""

    def __init__(self, user_agent: str, token: str) -> None:
        super().__init__(
            f"user_agent {user_agent[:200]!r} must be printable ASCII and contain the token {token!r}, "
            f"so that a site's robots.txt can address it; for example '{token}/1.0 (+https://example.org/about)'"
        )


class AddressRefusedError(PoliteError):
    """No address of the host may be visited. `verdict` says by which rule."""

    def __init__(self, verdict: AddressVerdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class LookupFailedError(PoliteError):
    """The name has no address; with `timed_out`, nobody answered in time."""

    def __init__(self, host: str, why: str, *, timed_out: bool = False) -> None:
        super().__init__(f"{host[:200]} cannot be looked up: {why}")
        self.timed_out = timed_out


class ConnectFailedError(PoliteError):
    """No connection came about; with `timed_out`, not within its budget."""

    def __init__(self, where: str, why: str, *, timed_out: bool = False) -> None:
        super().__init__(f"{where[:200]}: {why}")
        self.timed_out = timed_out


class UnreadableAnswerError(PoliteError):
    """What a host answered cannot be used; says why. It becomes a value before anyone else sees it."""
