"""`GET /api/audit`: whether hosts were visited as politely as they were promised."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from comity.contract.audit import AuditPage
from comity.contract.ledger import CrawlPolicy
from ledger.errors import Unknown
from ledger.rules.audit import HostJudge, SeenVisit, reached_the_site
from ledger.store import audit, crawls
from ledger.store.database import Store, Tx
from ledger.store.models import Crawl

AROUND = timedelta(hours=1)
"""Other crawls' visits so long before and after a crawl are looked at with it. No promise is longer than 10 minutes,
no capture than 145 s, and its result is told within a minute."""


class AuditService:
    """Reads the evidence of visits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(
        self, *, crawl_id: str | None, after: str, limit: int, organizations: Sequence[str] | None = None
    ) -> AuditPage:
        """The next `limit` hosts by name: of one crawl, with the visits of others beside its own; or all.

        `organizations`: whose crawls may be seen, None for all. Other visits count beside these, for a host does not
        care whose came too close, but are not named. Raises Unknown.
        """
        with self._store.reading() as tx:
            since = until = None
            if crawl_id is not None:
                crawl = crawls.get(tx, crawl_id)
                if crawl is None or (organizations is not None and crawl.organization not in organizations):
                    raise Unknown("crawl", crawl_id)
                since, until = _times_of(crawl)
            names = audit.visited_hosts(tx, crawl_id=crawl_id, organizations=organizations, after=after, limit=limit)
            reader = _Reader(tx, crawl_id, organizations)
            verdicts = [reader.judged(host, since=since, until=until).verdict() for host in names]
        return AuditPage(
            hosts=[one for one in verdicts if one is not None], next=names[-1] if len(names) == limit else None
        )


def _times_of(crawl: Crawl) -> tuple[datetime, datetime | None]:
    until = None if crawl.finished_at is None else crawl.finished_at + AROUND
    return crawl.started_at - AROUND, until


class _Reader:
    """Makes facts of rows."""

    def __init__(self, tx: Tx, crawl_id: str | None, organizations: Sequence[str] | None) -> None:
        self._tx = tx
        self._crawl_id = crawl_id
        self._organizations = organizations
        self._delays_ms: dict[str, int] = {}

    def judged(self, host: str, *, since: datetime | None, until: datetime | None) -> HostJudge:
        judge = HostJudge(host)
        for row in audit.visits_of_host(self._tx, host, since=since, until=until):
            if row.work == "watch" or reached_the_site(row.outcome, row.task_id):
                judge.add(self._seen(row))
        return judge

    def _seen(self, row: audit.VisitRow) -> SeenVisit:
        shown = self._organizations is None or row.organization in self._organizations
        return SeenVisit(
            crawl_id=row.crawl_id,
            page_id=row.page_id,
            url=row.url,
            attempt=row.attempt,
            number=row.number,
            run_id=row.run_id,
            submitted_at=row.submitted_at,
            finished_at=row.finished_at,
            received_at=row.received_at,
            promised_ms=self._promised_ms(row),
            leased_at=row.leased_at,
            left_at=row.left_at,
            waited_ms=row.waited_ms,
            own=shown and self._crawl_id in (None, row.crawl_id),
            shown=shown,
            work=row.work,
        )

    def _promised_ms(self, row: audit.VisitRow) -> int:
        """What a visit promised; where it does not say so itself, the delay of its crawl."""
        told = row.promised_gap_ms
        if told is not None:
            return told
        if row.crawl_id not in self._delays_ms:
            crawl = crawls.get(self._tx, row.crawl_id)
            assert crawl is not None
            self._delays_ms[row.crawl_id] = CrawlPolicy.model_validate(crawl.policy).per_host_delay_ms
        return self._delays_ms[row.crawl_id]
