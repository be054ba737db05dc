"""Look again for manifests that were not there when their pages were reported."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from comity.contract.ledger import CrawlPolicy, PageResult
from ledger import log
from ledger.artifacts.artifacts import Artifacts
from ledger.clock import Clock
from ledger.rules import late as rules
from ledger.rules.outcome import Manifest, Settled, absent, settle
from ledger.services.page_links import read_links
from ledger.services.policy import goes_on
from ledger.services.settle_later import settle_later
from ledger.store import crawls, late, pages
from ledger.store.database import Store, Tx
from ledger.store.models_artifacts import LateManifest

ROWS_PER_PASS = 500
Kept = Callable[[], bool]


@dataclass(frozen=True)
class Admitted:
    """How many pages got their proof, how many will never have it, and how many still wait."""

    admitted: int = 0
    absent: int = 0
    waiting: int = 0


@dataclass(frozen=True)
class _Look:
    """A page whose manifest was looked for. `settled` is None where it is still to come."""

    page_id: str
    crawl_id: str
    manifest: Manifest
    result: PageResult
    settled: Settled | None


class LateManifestService:
    """`every_s` and `limit_s`: how soon a late manifest is looked for again, and when it is called absent."""

    def __init__(self, store: Store, artifacts: Artifacts, clock: Clock, *, every_s: float, limit_s: float) -> None:
        self._store = store
        self._artifacts = artifacts
        self._clock = clock
        self._every_s = every_s
        self._limit_s = limit_s

    def look_again(
        self, crawl_id: str | None = None, organizations: Sequence[str] | None = None, *, in_time: Kept
    ) -> Admitted:
        """Look for what is due, of these organisations' crawls (None: all), or for all of one crawl.

        Ends early when `in_time` says so or the store is away.
        """
        with self._store.reading() as tx:
            rows = (
                late.of_crawl(tx, crawl_id)
                if crawl_id is not None
                else late.due(tx, organizations, now=self._clock(), limit=ROWS_PER_PASS)
            )
        return self._look(rows, in_time)

    def _look(self, rows: Sequence[tuple[LateManifest, str]], in_time: Kept) -> Admitted:
        admitted = gone = 0
        for row, crawl_id in rows:
            if not in_time():
                break
            now = self._clock()
            look = self._one(row, crawl_id, now)
            settled = self._write(look, row, now)
            admitted += settled and look.settled is not None and look.settled.admitted
            gone += settled and look.settled is not None and not look.settled.admitted
            if look.manifest.away:
                break
        return Admitted(admitted, gone, len(rows) - admitted - gone)

    def _one(self, row: LateManifest, crawl_id: str, now: datetime) -> _Look:
        result = PageResult.model_validate(row.result)
        manifest = self._artifacts.manifest(result.manifest_location)
        if manifest.kind != "late":
            settled = settle(result, manifest, crawl_id=crawl_id, attempt=row.attempt)
        elif rules.given_up(marked_at=row.marked_at, now=now, limit_s=self._limit_s):
            settled = absent(result, manifest.problem)
        else:
            return _Look(row.page_id, crawl_id, manifest, result, None)
        return _Look(row.page_id, crawl_id, manifest, result, settled)

    def _write(self, look: _Look, seen: LateManifest, now: datetime) -> bool:
        """True where the page is settled now. Nothing is written where it was settled otherwise meanwhile."""
        links = self._links(look) if look.settled is not None and look.settled.state == "captured" else None
        named = [*(look.settled.artifacts.values() if look.settled else ()), look.result.manifest_location]
        size_bytes = self._artifacts.size_bytes(place for place in named if place)
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, look.crawl_id)
            row = late.get(tx, look.page_id)
            if crawl is None or row is None or row.marked_at != seen.marked_at:
                return False
            if look.settled is None:
                wait = rules.next_look(marked_at=row.marked_at, now=now, every_s=self._every_s)
                late.looked(tx, row, problem=look.manifest.problem, next_look_at=wait)
                return False
            late.forget(tx, look.page_id)
            page = pages.by_id(tx, crawl.id, [look.page_id]).get(look.page_id)
            if page is None or page.task_id != look.result.task_id or page.artifacts:
                return False
            settle_later(
                tx, crawl, page, result=look.result, settled=look.settled, links=links, size_bytes=size_bytes, at=now
            )
        log.event("late_manifest_settled", crawl_id=look.crawl_id, page_id=look.page_id, state=look.settled.state)
        return True

    def _links(self, look: _Look) -> list[str] | None:
        assert look.settled is not None
        with self._store.reading() as tx:
            depth = _depth(tx, look)
            crawl = crawls.get(tx, look.crawl_id)
        if crawl is None or depth is None:
            return None
        policy = CrawlPolicy.model_validate(crawl.policy)
        if not goes_on(policy, depth):
            return None
        return read_links(self._artifacts, look.settled, policy, crawl_id=look.crawl_id, page_id=look.page_id)


def _depth(tx: Tx, look: _Look) -> int | None:
    page = pages.by_id(tx, look.crawl_id, [look.page_id]).get(look.page_id)
    return page.depth if page is not None else None
