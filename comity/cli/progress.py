"""The live view of a crawl: facts from the ledger in, a frozen picture out, and its rendering. No clock of its own."""

import math
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from comity.cli.attempts import tried_again
from comity.contract.ledger import CrawlView, PageView, VisitView
from ledger.rules.audit import reached_the_site

RATE_WINDOW = timedelta(seconds=60)
ASKS_FOR_REST = (429, 503)
"""How long such a host rests is in its answer's Retry-After, which only the flow has seen until the next visit."""


@dataclass(frozen=True)
class HostProgress:
    """One host at the current level. `note` says what it does now, or why it is done."""

    host: str
    settled: int
    total: int
    note: str


@dataclass(frozen=True)
class Progress:
    """A crawl at one moment. `settled` and `total` count the pages known so far, over all levels."""

    crawl_id: str
    state: str
    depth: int
    max_depth: int
    level_settled: int
    level_total: int
    settled: int
    total: int
    captured: int
    captures_per_minute: float
    hosts: tuple[HostProgress, ...]
    waits: str
    resumed: str = ""


def progress_of(crawl: CrawlView, pages: Sequence[PageView], lanes: AbstractSet[str] | None, at: datetime) -> Progress:
    """The picture. `lanes` are the hosts that the level's run is at; None where that is unknown."""
    pending = [page.depth for page in pages if page.state == "pending"]
    depth = min(pending) if pending else max((page.depth for page in pages), default=0)
    level = [page for page in pages if page.depth == depth]
    hosts = tuple(
        _host(host, pages, depth, crawl=crawl, lanes=lanes, at=at) for host in sorted({page.host for page in level})
    )
    settled = sum(1 for page in pages if page.state != "pending")
    return Progress(
        crawl_id=crawl.id,
        state=crawl.state,
        depth=depth,
        max_depth=crawl.policy.max_depth,
        level_settled=sum(1 for page in level if page.state != "pending"),
        level_total=len(level),
        settled=settled,
        total=len(pages),
        captured=sum(1 for page in pages if page.state == "captured"),
        captures_per_minute=_rate(crawl, pages, at),
        hosts=hosts,
        waits=_waits(crawl, level, lanes),
        resumed=tried_again(crawl, depth),
    )


def _rate(crawl: CrawlView, pages: Sequence[PageView], at: datetime) -> float:
    recent = sum(
        1 for page in pages if page.state == "captured" and page.settled_at and at - page.settled_at <= RATE_WINDOW
    )
    window_s = max(1.0, min(RATE_WINDOW, at - crawl.started_at).total_seconds())
    return round(recent * 60 / window_s, 1)


def _host(
    host: str,
    pages: Sequence[PageView],
    depth: int,
    *,
    crawl: CrawlView,
    lanes: AbstractSet[str] | None,
    at: datetime,
) -> HostProgress:
    here = [page for page in pages if page.host == host]
    level = [page for page in here if page.depth == depth]
    settled = sum(1 for page in level if page.state != "pending")
    if settled == len(level):
        note = _done(level)
    elif lanes and host not in lanes:
        note = "waits for a free browser"
    else:
        note = _resting_or_capturing(here, crawl, bool(lanes), at)
    return HostProgress(host, settled, len(level), note)


def _done(level: Sequence[PageView]) -> str:
    reasons = Counter(page.reason or page.state for page in level if page.state in ("skipped", "failed"))
    said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(2))
    if all(page.state == "skipped" for page in level):
        return f"skipped: {said}"
    return f"done ({said})" if said else "done"


def _resting_or_capturing(here: Sequence[PageView], crawl: CrawlView, at_it: bool, at: datetime) -> str:
    visited = [page for page in here if any(_at_the_site(visit) for visit in page.visits)]
    if visited:
        last = max(visited, key=_ended_at)
        left = timedelta(milliseconds=_delay_ms(here, last.depth, crawl)) - (at - _ended_at(last))
        if left > timedelta():
            return f"resting {math.ceil(left.total_seconds())} s"
        if at_it and last.http_status in ASKS_FOR_REST:
            return f"resting or capturing: it answered {last.http_status}"
    return "capturing" if at_it else "to be visited"


def _ended_at(page: PageView) -> datetime:
    return max(visit.finished_at for visit in page.visits if _at_the_site(visit))


def _at_the_site(visit: VisitView) -> bool:
    return reached_the_site(visit.outcome, visit.task_id)


def _delay_ms(here: Sequence[PageView], depth: int, crawl: CrawlView) -> int:
    """The host's delay at that level, its crawl-delay included: what all its visits there promised, and some more."""
    visits = [visit for page in here if page.depth == depth for visit in page.visits]
    ours_ms = crawl.policy.per_host_delay_ms
    return min(ours_ms if visit.promised_gap_ms is None else visit.promised_gap_ms for visit in visits)


def _waits(crawl: CrawlView, level: Sequence[PageView], lanes: AbstractSet[str] | None) -> str:
    if crawl.state != "running":
        return ""
    if all(page.state != "pending" for page in level):
        return "the level is being closed, or the next one starts"
    if lanes is not None and not lanes:
        return "the level's run starts: robots.txt is read and the scripts are compiled"
    waiting = {page.host for page in level if page.state == "pending"} - lanes if lanes else ()
    return f"{len(waiting)} hosts wait for a free browser" if waiting else ""


def render_progress(progress: Progress, most_hosts: int = 12) -> RenderableType:
    """For a terminal: a header, a bar for the level, and one line per host that still has something to do first."""
    head = Text.assemble(
        (f"crawl {progress.crawl_id}", "bold"),
        f"  level {progress.depth}/{progress.max_depth}",
        f"  pages {progress.settled}/{progress.total}",
        f"  captured {progress.captured}",
        f"  {progress.captures_per_minute:g}/min",
    )
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    unfinished_first = sorted(progress.hosts, key=lambda host: host.settled == host.total)
    for host in unfinished_first[:most_hosts]:
        style = "dim" if host.settled == host.total else ""
        bar = ProgressBar(total=max(1, host.total), completed=host.settled, width=16)
        table.add_row(Text(host.host, style), bar, f"{host.settled}/{host.total}", Text(host.note, style))
    rest = len(progress.hosts) - most_hosts
    parts: list[RenderableType] = [head, table]
    if rest > 0:
        parts.append(Text(f"and {rest} more hosts", "dim"))
    if progress.resumed:
        parts.append(Text(progress.resumed, "yellow"))
    if progress.waits:
        parts.append(Text(progress.waits, "dim"))
    return Group(*parts)


def progress_line(progress: Progress) -> str:
    """For a log: the same on one line."""
    waits = "".join(f"; {said}" for said in (progress.resumed, progress.waits) if said)
    return (
        f"level {progress.depth} of {progress.max_depth}: {progress.level_settled}/{progress.level_total} pages done; "
        f"in all {progress.settled}/{progress.total}, {progress.captured} captured, "
        f"{progress.captures_per_minute:g} captures/min{waits}"
    )
