"""What a level visits, in which order, how fast and how many hosts at once. Facts in, a frozen plan out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comity.contract.ledger import FrontierPage
from comity.polite.rules.robots import RobotsRuling
from flows.rules.sitemaps import first_sitemaps

MAX_ROBOTS_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class PageWork:
    """One page to visit."""

    page_id: str
    url: str


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """One page that is not visited, and why, in one line."""

    page: PageWork
    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One host (URL authority): its pages in the frontier's order, `delay_ms` from one's end to the next's beginning.

    `initial_wait_ms` is what remains of that delay since anyone last touched the host. `place` is the host's position
    in the level; hosts begin their round at different endpoints by it. `crawl_delay_ms` is what robots.txt asks for, 0
    where it asks for none, None where it was not asked.
    """

    host: str
    place: int
    pages: tuple[PageWork, ...]
    delay_ms: int
    initial_wait_ms: int
    crawl_delay_ms: int | None
    robots: str
    sitemaps: tuple[str, ...] = ()
    """Read before the pages, each as a visit of its own."""


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """Every page of the frontier is either in one of `hosts` or in `skipped`."""

    hosts: tuple[HostPlan, ...]
    skipped: tuple[SkippedPage, ...]
    parallelism: int


def parallelism(host_parallelism: int, *, slots: int) -> int:
    """More hosts at once than browsers would only mean more hosts that wait for one."""
    return max(1, min(host_parallelism, slots))


def longer_delay_ms(ours_ms: int, theirs_ms: int | None) -> int:
    """Neither side's delay is ever shortened by the other's."""
    return max(ours_ms, theirs_ms or 0)


def remaining_ms(delay_ms: int, idle_ms: int | None) -> int:
    """What is left of a delay after `idle_ms` without a touch; None means never touched, so nothing is left."""
    return 0 if idle_ms is None else max(0, delay_ms - max(0, idle_ms))


def too_long(delay_ms: int, max_host_delay_ms: int, asked_by: str) -> str | None:
    """Why a host that wants this delay is skipped, or None. It is never visited sooner than it asks."""
    if delay_ms <= max_host_delay_ms:
        return None
    return f"host-delay-too-long: {asked_by} asks for {delay_ms} ms, over the limit of {max_host_delay_ms} ms"


def plan_level(
    frontier: Sequence[FrontierPage],
    rulings: Iterable[RobotsRuling],
    *,
    per_host_delay_ms: int,
    max_host_delay_ms: int,
    host_parallelism: int,
    slots: int,
    sitemaps: bool = False,
) -> LevelPlan:
    """Group by host, apply robots.txt and the longer delay. `rulings` is empty where robots.txt is not asked.

    With `sitemaps` each host that is visited gets the sitemaps that it begins with.
    """
    rulings = tuple(rulings)
    verdicts = {verdict.url: verdict for ruling in rulings for verdict in ruling.verdicts}
    wanted_ms = {verdict.url: ruling.crawl_delay_ms or 0 for ruling in rulings for verdict in ruling.verdicts}
    groups: dict[str, list[FrontierPage]] = {}
    for page in frontier:
        groups.setdefault(page.host, []).append(page)
    hosts: list[HostPlan] = []
    skipped: list[SkippedPage] = []
    for host, group in groups.items():
        # One authority can have two robots.txt, one for http and one for https: the longer delay of both.
        crawl_delay_ms = max((wanted_ms[page.url] for page in group if page.url in wanted_ms), default=None)
        delay_ms = longer_delay_ms(per_host_delay_ms, crawl_delay_ms)
        over = too_long(delay_ms, max_host_delay_ms, "robots.txt")
        pages: list[PageWork] = []
        for page in group:
            work = PageWork(page_id=page.page_id, url=page.url)
            verdict = verdicts.get(page.url)
            if verdict is not None and not verdict.allowed:
                reason = f"{verdict.reason}: {verdict.detail}" if verdict.detail else str(verdict.reason)
                skipped.append(SkippedPage(page=work, host=host, reason=reason))
            elif over:
                skipped.append(SkippedPage(page=work, host=host, reason=over))
            else:
                pages.append(work)
        if pages:
            hosts.append(
                HostPlan(
                    host=host,
                    place=len(hosts),
                    pages=tuple(pages),
                    delay_ms=delay_ms,
                    initial_wait_ms=remaining_ms(delay_ms, _idle_ms(group)),
                    crawl_delay_ms=crawl_delay_ms,
                    robots=_robots_said(len(pages), len(group), asked=bool(verdicts)),
                    sitemaps=first_sitemaps([page.url for page in pages], rulings) if sitemaps else (),
                )
            )
    return LevelPlan(hosts=tuple(hosts), skipped=tuple(skipped), parallelism=parallelism(host_parallelism, slots=slots))


def _idle_ms(group: Sequence[FrontierPage]) -> int | None:
    """The shortest that any page tells: all tell the same host's, and erring means waiting."""
    return min((page.host_idle_ms for page in group if page.host_idle_ms is not None), default=None)


def _robots_said(allowed: int, asked_for: int, *, asked: bool) -> str:
    if not asked:
        return "not asked"
    return "allows all" if allowed == asked_for else f"forbids {asked_for - allowed} of {asked_for}"


def plan_rows(plan: LevelPlan) -> list[dict[str, str | int]]:
    """The plan as a table for people: one row for each host that is visited, then for each reason to skip."""
    rows: list[dict[str, str | int]] = [
        {
            "host": host.host,
            "pages": len(host.pages),
            "delay ms": host.delay_ms,
            "first wait ms": host.initial_wait_ms,
            "robots.txt": host.robots,
            "skipped because": "",
        }
        for host in plan.hosts
    ]
    counts: dict[tuple[str, str], int] = {}
    for skipped in plan.skipped:
        key = (skipped.host, skipped.reason[:MAX_ROBOTS_CHARACTERS])
        counts[key] = counts.get(key, 0) + 1
    rows += [
        {
            "host": host,
            "pages": count,
            "delay ms": "",
            "first wait ms": "",
            "robots.txt": "",
            "skipped because": reason,
        }
        for (host, reason), count in counts.items()
    ]
    return rows
