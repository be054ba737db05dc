"""Visits, put together from the request log: the questions that politeness is judged by.

A *visit* is one page load as a host sees it: the page request, its redirects (server's and client's) on that host and
every sub-resource that it took from that host. All times are monotonic seconds.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urldefrag, urljoin, urlsplit

from tests.site.log import LogEntry

UNFINISHED_S = math.inf
ROUND_WITHIN_S = 0.5
"""A browser goes round a redirect loop without pausing; a crawler that tries again pauses longer than this."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Requests of one page load on one host, in order; the first is the page."""

    host: str
    requests: tuple[LogEntry, ...]

    @property
    def url(self) -> str:
        return self.requests[0].url

    @property
    def path(self) -> str:
        return self.requests[0].path

    @property
    def started_s(self) -> float:
        return self.requests[0].started_s

    @property
    def finished_s(self) -> float:
        """The end of its last request; infinite while one is still under way."""
        return max(end_of(entry) for entry in self.requests)


def end_of(entry: LogEntry) -> float:
    return UNFINISHED_S if entry.finished_s is None else entry.finished_s


def visits_of(entries: Iterable[LogEntry]) -> tuple[Visit, ...]:
    """All visits, in the order in which they began.

    A page request continues a visit where it is the target of that visit's redirect, or came from one of its pages (a
    client-side redirect carries a Referer, a crawler's own navigation does not). A resource belongs to the latest
    visit on its host that asked for its referrer, else to the latest one there; one that another host's page asked
    for belongs to none.
    """
    open_visits: list[tuple[str, list[LogEntry]]] = []
    for entry in sorted(entries, key=lambda one: one.started_s):
        if entry.kind == "robots":
            continue
        here = [requests for host, requests in reversed(open_visits) if host == entry.host]
        if entry.kind == "page":
            home = next((requests for requests in here if _continues(entry, requests)), None)
            if home is None:
                home = []
                open_visits.append((entry.host, home))
        elif _foreign(entry) or not here:
            continue
        else:
            referrer = entry.headers.get("referer", "")
            home = next((requests for requests in here if any(one.url == referrer for one in requests)), here[0])
        home.append(entry)
    return tuple(Visit(host, tuple(requests)) for host, requests in open_visits)


def _continues(entry: LogEntry, requests: Sequence[LogEntry]) -> bool:
    pages = [one for one in requests if one.kind == "page"]
    referrer = entry.headers.get("referer")
    if referrer and referrer == pages[-1].url:
        return True
    last = pages[-1]
    if last.location is None or urldefrag(urljoin(last.url, last.location)).url != entry.url:
        return False
    # Where redirects run in a circle, the next attempt looks like one more round; only its pause tells.
    circle = any(one.url == entry.url for one in pages)
    return not circle or entry.started_s - end_of(last) < ROUND_WITHIN_S


def _foreign(entry: LogEntry) -> bool:
    referrer = entry.headers.get("referer")
    return bool(referrer) and urlsplit(referrer).netloc != entry.host


def overlapping(visits: Sequence[Visit]) -> tuple[tuple[Visit, Visit], ...]:
    """Pairs of visits that one host had to bear at the same time; polite crawlers leave this empty."""
    pairs = []
    for index, earlier in enumerate(visits):
        for later in visits[index + 1 :]:
            if earlier.host == later.host and later.started_s < earlier.finished_s:
                pairs.append((earlier, later))
    return tuple(pairs)


def gaps_s(visits: Sequence[Visit], host: str) -> tuple[float, ...]:
    """Seconds from the end of each visit's last request to the next visit's page request on `host`.

    Negative where two overlap.
    """
    there = [visit for visit in visits if visit.host == host]
    gaps = []
    busy_until = -math.inf
    for visit in there:
        if busy_until > -math.inf:
            gaps.append(visit.started_s - busy_until)
        busy_until = max(busy_until, visit.finished_s)
    return tuple(gaps)


def most_at_once(spans: Iterable[tuple[float, float]]) -> int:
    """The largest number of spans (begin, end) that share a moment; touching ends do not count."""
    events = sorted((moment, step) for begin, end in spans for moment, step in ((begin, 1), (end, -1)))
    running = most = 0
    for _, step in events:
        running += step
        most = max(most, running)
    return most


def busiest(entries: Iterable[LogEntry], counts: Callable[[LogEntry], bool]) -> int:
    """The most requests under way at once among those that `counts`."""
    return most_at_once((entry.started_s, end_of(entry)) for entry in entries if counts(entry))
