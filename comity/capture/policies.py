"""Which URLs are denied, left out of the archive, or kept without their body. Facts in, verdict out."""

import re
from collections.abc import Iterable
from typing import Literal

from comity.contract.capture import ContentTypePolicy, UrlPolicy

Verdict = Literal["deny", "no-archive", "no-body"]


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob over the whole URL: `*` is any run of characters, everything else is itself."""
    return re.compile(".*".join(re.escape(part) for part in glob.split("*")), re.DOTALL)


class Policies:
    """The lists of one capture, ready to ask."""

    def __init__(self, urls: Iterable[UrlPolicy], content_types: Iterable[ContentTypePolicy]) -> None:
        self._urls = [(glob_pattern(policy.pattern), policy) for policy in urls]
        self._bodyless = tuple(policy.prefix.lower() for policy in content_types)

    def of_url(self, url: str) -> Verdict | None:
        """The action of the first policy that matches the whole URL; None: nothing special."""
        return next((policy.action for pattern, policy in self._urls if pattern.fullmatch(url)), None)

    @property
    def may_deny_sockets(self) -> bool:
        """Whether some WebSocket could be denied: a deny pattern that a `ws` or `wss` URL could match."""
        begins = (policy.pattern.partition("*") for _, policy in self._urls if policy.action == "deny")
        return any(
            head.startswith(scheme) or (bool(star) and scheme.startswith(head))
            for head, star, _ in begins
            for scheme in ("ws://", "wss://")
        )

    def denies(self, url: str) -> bool:
        """Whether a request to this URL must not leave."""
        return self.of_url(url) == "deny"

    def keeps_body(self, content_type: str) -> bool:
        """Whether responses of this content type keep their body."""
        return not content_type.strip().lower().startswith(self._bodyless) if self._bodyless else True

    def browser_patterns(self) -> list[str]:
        """The deny globs as the browser's own patterns (where `?` and `\\` are special too)."""
        escapes = str.maketrans({"?": r"\?", "\\": r"\\"})
        return [policy.pattern.translate(escapes) for _, policy in self._urls if policy.action == "deny"]
