"""What a page itself tells robots: `<meta name="robots">` in its document and `X-Robots-Tag` in its response.

There is no RFC; the words are those that search engines document. Of several that apply, the most restrictive wins.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

OUR_TOKEN = "comity"  # noqa: S105 - the user-agent token that robots.txt knows us by
EVERYONE = frozenset({"robots", "*"})
FORBIDS_FOLLOWING = frozenset({"nofollow", "none"})
WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives that have a colon of their own: what stands before it is no user agent."""

_AGENT = re.compile(r"\s*(\*|[A-Za-z][\w.+-]*)\s*")
"""A name before a colon. `25-Jun-50 15:00:00 GMT`, which a comma may have cut off its weekday, is none."""


@dataclass(frozen=True)
class RobotsDirective:
    """One meta element or one header line, as the page has it. `name`: whom a meta element speaks to."""

    source: Literal["meta", "header"]
    value: str
    name: str | None = None


def page_forbids_following(directives: Iterable[RobotsDirective]) -> bool:
    """True where the page asks us, or every robot, not to follow its links."""
    return any(word in FORBIDS_FOLLOWING for directive in directives for word in _for_us(directive))


def _for_us(directive: RobotsDirective) -> Iterator[str]:
    if directive.source == "meta":
        if _is_us(directive.name or ""):
            yield from (word.strip().lower() for word in directive.value.split(","))
        return
    listens = True
    for part in directive.value.split(","):
        agent, colon, word = part.partition(":")
        if colon and _AGENT.fullmatch(agent) and agent.strip().lower() not in WITH_VALUE:
            listens = _is_us(agent)  # speaks of this agent until another one is named
        else:
            word = part
        if listens:
            yield word.strip().lower()


def _is_us(name: str) -> bool:
    return name.strip().lower() in EVERYONE | {OUR_TOKEN}
