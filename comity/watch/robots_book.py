"""What hosts said in their robots.txt, for a day at most (RFC 9309, section 2.4), and what it means for pages."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from comity.polite.rules.robots import RobotsFetch, RobotsVerdict, judge, origin_of

KEPT_S = 24 * 3600.0
KEPT_UNREACHABLE_S = 600.0
"""Nobody can tell what such a host allows, and nothing of it is visited; ten minutes later it is asked again."""
MAX_ORIGINS = 50_000
MAX_BYTES = 64 * 2**20
MAX_VERDICTS = 2_000
"""Of one origin: the same pages are visited again and again."""

FetchRobots = Callable[[str], Awaitable[RobotsFetch]]
"""Asks one origin. Never raises for what a host does."""


@dataclass(slots=True)
class _Entry:
    fetch: RobotsFetch
    until_s: float
    crawl_delay_ms: int | None
    verdicts: dict[str, RobotsVerdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RobotsSaid:
    """For one URL. `crawl_delay_ms` is what the host asks for; 0: it asks for none."""

    verdict: RobotsVerdict
    crawl_delay_ms: int


class RobotsBook:
    """Answers from what is known. Belongs to one event loop; whoever fetches does it politely and says so."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0

    def known(self, url: str) -> RobotsSaid | None:
        """None where its origin has to be asked first. Raises NotAWebUrlError."""
        origin = origin_of(url)
        entry = self._entries.get(origin)
        if entry is None:
            return None
        if self._now_s() >= entry.until_s:
            self._forget(origin)
            return None
        self._entries.move_to_end(origin)
        verdict = entry.verdicts.get(url)
        if verdict is None:
            verdict = judge(entry.fetch, [url]).verdicts[0]
            if len(entry.verdicts) < MAX_VERDICTS:
                entry.verdicts[url] = verdict
        return RobotsSaid(verdict, entry.crawl_delay_ms or 0)

    def keep(self, fetch: RobotsFetch) -> None:
        """What an origin answered just now. Raises NotAWebUrlError."""
        origin = origin_of(fetch.origin)
        self._forget(origin)
        kept_s = KEPT_UNREACHABLE_S if fetch.outcome == "unreachable" else KEPT_S
        self._entries[origin] = _Entry(fetch, self._now_s() + kept_s, judge(fetch, []).crawl_delay_ms)
        self._bytes += len(fetch.body)
        while len(self._entries) > MAX_ORIGINS or self._bytes > MAX_BYTES:
            self._forget(next(iter(self._entries)))

    def _forget(self, origin: str) -> None:
        entry = self._entries.pop(origin, None)
        if entry is not None:
            self._bytes -= len(entry.fetch.body)
