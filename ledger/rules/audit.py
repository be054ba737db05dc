"""Whether every host had the rest that it was promised: judged visit by visit, from evidence alone.

Two visits of one flow run are compared on that run's own clock. Clocks of different machines say nothing about each
other, so visits of different runs are compared through their leases, on the ledger's clock: a visit began no sooner
than the lease's grant plus what its run waited after that (a duration, which no wrong clock changes), and it was over
before the ledger heard of the release. The gap between these two is never longer than the true one.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from comity.contract.audit import AuditClock, HostAudit, Violation, VisitRef

NEVER_AT_THE_SITE = ("busy", "unreachable", "400 ", "401 ", "403 ", "404 ", "413 ", "500 ")
"""How outcomes of tries begin that ended at the capture server: the site saw nothing of them."""
MOST_VIOLATIONS = 50
"""So many are told for each host; the others are counted."""
RUNS_REMEMBERED = 64
"""So many runs' last visits are compared with a new one: older ones lie further back than any promise."""


@dataclass(frozen=True)
class SeenVisit:
    """A visit with its evidence. `leased_at` and `left_at` are the lease's grant and end, by the ledger's clock.

    `own`: the audit is about it, and not only about what it did to others. `shown`: whoever asks may see whose it is.
    """

    crawl_id: str
    page_id: str
    url: str
    attempt: int
    number: int
    run_id: str
    submitted_at: datetime
    finished_at: datetime
    received_at: datetime
    promised_ms: int
    leased_at: datetime | None = None
    left_at: datetime | None = None
    waited_ms: int | None = None
    own: bool = True
    shown: bool = True
    work: Literal["crawl", "watch"] = "crawl"

    @property
    def began_at(self) -> datetime | None:
        """When it began at the earliest, by the ledger's clock; None where no lease tells."""
        if self.leased_at is None or self.waited_ms is None:
            return None
        return self.leased_at + timedelta(milliseconds=self.waited_ms)

    @property
    def over_at(self) -> datetime:
        """When it was over at the latest, by the ledger's clock."""
        return self.left_at or self.received_at


@dataclass(frozen=True)
class _Gap:
    ms: int
    clock: AuditClock
    earlier: SeenVisit


def reached_the_site(outcome: str, task_id: str | None) -> bool:
    """Whether the site may have seen a try. One in doubt counts."""
    return task_id is not None or not outcome.startswith(NEVER_AT_THE_SITE)


@dataclass
class HostJudge:
    """Takes the visits of one host in the order in which they began. A gap counts where one of its two is `own`."""

    host: str
    _visits: int = 0
    _crawls: set[str] = field(default_factory=set)
    _promises_ms: tuple[int, int] | None = None
    _smallest: _Gap | None = None
    _broken: int = 0
    _violations: list[Violation] = field(default_factory=list)
    _last: dict[str, SeenVisit] = field(default_factory=dict)

    def add(self, visit: SeenVisit) -> None:
        """The next visit."""
        if visit.own:
            self._visits += 1
            least, most = self._promises_ms or (visit.promised_ms, visit.promised_ms)
            self._promises_ms = (min(least, visit.promised_ms), max(most, visit.promised_ms))
        if visit.work == "crawl":
            self._crawls.add(visit.crawl_id)
        gaps = [_gap(one, visit) for one in self._last.values() if visit.own or one.own]
        if gaps:
            self._weigh(visit, min(gaps, key=lambda gap: gap.ms))
        known = self._last.pop(visit.run_id, None)
        self._last[visit.run_id] = visit if known is None or visit.finished_at >= known.finished_at else known
        if len(self._last) > RUNS_REMEMBERED:
            del self._last[next(iter(self._last))]

    def verdict(self) -> HostAudit | None:
        """What came of it; None where no visit was made."""
        if self._promises_ms is None:
            return None
        return HostAudit(
            host=self.host,
            visits=self._visits,
            crawls=len(self._crawls),
            smallest_gap_ms=self._smallest.ms if self._smallest else None,
            clock=self._smallest.clock if self._smallest else None,
            promised_ms=self._promises_ms[1],
            least_promised_ms=self._promises_ms[0],
            kept=self._broken == 0,
            broken=self._broken,
            violations=self._violations,
        )

    def _weigh(self, visit: SeenVisit, gap: _Gap) -> None:
        if self._smallest is None or gap.ms < self._smallest.ms:
            self._smallest = gap
        if gap.ms >= visit.promised_ms:
            return
        self._broken += 1
        if len(self._violations) < MOST_VIOLATIONS:
            self._violations.append(
                Violation(
                    kind="overlap" if gap.ms < 0 else "short-gap",
                    gap_ms=gap.ms,
                    promised_ms=visit.promised_ms,
                    clock=gap.clock,
                    earlier=_ref(gap.earlier),
                    later=_ref(visit),
                )
            )


def _gap(earlier: SeenVisit, later: SeenVisit) -> _Gap:
    if earlier.run_id == later.run_id:
        return _Gap(_ms(later.submitted_at - earlier.finished_at), "run", earlier)
    began_at = later.began_at
    if began_at is None:
        return _Gap(_ms(later.submitted_at - earlier.over_at), "reported", earlier)
    return _Gap(_ms(began_at - earlier.over_at), "ledger", earlier)


def _ms(span: timedelta) -> int:
    return round(span / timedelta(milliseconds=1))


def _ref(visit: SeenVisit) -> VisitRef:
    return VisitRef(
        crawl_id=visit.crawl_id if visit.shown else "",
        page_id=visit.page_id if visit.shown else "",
        url=visit.url if visit.shown else "",
        attempt=visit.attempt,
        number=visit.number,
        run_id=visit.run_id,
        submitted_at=visit.submitted_at,
        finished_at=visit.finished_at,
        leased_at=visit.leased_at,
        left_at=visit.left_at,
        work=visit.work,
    )
