"""`POST /api/crawls`: check, resolve, pin and insert a crawl. Nothing is dispatched before the commit."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime

from comity.contract.ledger import CrawlStarted, ErrorField, StartCrawl, StopReason
from ledger import log
from ledger.clock import Clock
from ledger.errors import BadInput, CrawlRuns, KeyReused, NoEnabledTarget, SlotsTaken, StoreBusy
from ledger.ids import new_id
from ledger.principal import Principal
from ledger.rules import budget
from ledger.rules.scope import authority, frontier_url
from ledger.services import pin_extractors, pin_scripts, policy
from ledger.services.background import Background
from ledger.services.space import Space
from ledger.services.terms import Terms
from ledger.store import crawls, extractors, levels, pages, targets
from ledger.store.database import Store, Tx

TRIES = 3
"""A slot may be taken while we look (PostgreSQL); the second look sees by whom."""

MAX_KEY_CHARACTERS = 255


@dataclass(frozen=True)
class Seeds:
    """Where a crawl begins. `targets`: how many came from the target list, None where they were given."""

    urls: list[str]
    targets: int | None


class StartCrawlService:
    """Starts crawls."""

    def __init__(self, store: Store, terms: Terms, space: Space, background: Background, clock: Clock) -> None:
        self._store = store
        self._space = space
        self._terms = terms
        self._background = background
        self._clock = clock

    def start(self, order: StartCrawl, *, by: Principal, key: str | None) -> CrawlStarted:
        """Start the crawl, or repeat the answer that the same key and body got before. It is the caller's home's.

        Raises BadInput; NoSpace; CrawlRuns or SlotsTaken where every slot is taken; NoEnabledTarget; KeyReused.
        """
        given = _given_seeds(order)
        if key is not None and not (0 < len(key) <= MAX_KEY_CHARACTERS and key.isascii() and key.isprintable()):
            raise BadInput.at("Idempotency-Key", f"must be 1 to {MAX_KEY_CHARACTERS} printable ASCII characters")
        body_sha256 = hashlib.sha256(json.dumps(order.to_wire(), sort_keys=True).encode()).hexdigest()
        for _ in range(TRIES):
            with self._store.writing() as tx:
                repeated = self._repeated(tx, by, key, body_sha256)
                if repeated is not None:
                    return CrawlStarted(crawl_id=repeated)
                crawl_id = self._insert(tx, order, given, by)
                if crawl_id is not None and key is not None:
                    crawls.keep_start_key(
                        tx,
                        organization=by.home,
                        subject=by.subject,
                        key=key,
                        body_sha256=body_sha256,
                        crawl_id=crawl_id,
                        at=self._clock(),
                    )
            if crawl_id is not None:
                log.event("crawl_started", crawl_id=crawl_id, by=by.subject, organization=by.home)
                self._background.dispatch(crawl_id)
                return CrawlStarted(crawl_id=crawl_id)
        raise StoreBusy

    def _repeated(self, tx: Tx, by: Principal, key: str | None, body_sha256: str) -> str | None:
        known = crawls.start_key(tx, by.home, by.subject, key) if key is not None else None
        if known is None:
            return None
        if known.body_sha256 != body_sha256:
            raise KeyReused
        return known.crawl_id

    def _insert(self, tx: Tx, order: StartCrawl, given: list[str] | None, by: Principal) -> str | None:
        """The new crawl's id, or None where somebody took its slot at the same moment."""
        self._space.require()
        seeds = Seeds(given, None) if given is not None else self._target_seeds(tx, order, by)
        resolved = policy.resolve(order, self._terms, targets=seeds.targets, organization=by.home)
        scripts = pin_scripts.pin(tx, order.scripts)
        pins = pin_extractors.resolve(tx, order.extractors)
        slot = self._free_slot(tx, by)
        entry = budget.admit(seeds.urls, (), resolved.max_pages)
        bitten: StopReason | None = "max_pages" if entry.cut else None
        now = self._clock()
        crawl_id = new_id("c")
        if not crawls.insert(
            tx,
            crawl_id=crawl_id,
            slot=slot,
            organization=by.home,
            started_by=by.subject,
            policy=resolved.to_wire(),
            seeds=list(dict.fromkeys(seeds.urls)),
            bitten=bitten,
            at=now,
        ):
            return None
        crawls.pin_scripts(tx, crawl_id, scripts)
        extractors.pin(tx, crawl_id, pins)
        _insert_first_level(tx, crawl_id, entry.urls, now)
        return crawl_id

    def _target_seeds(self, tx: Tx, order: StartCrawl, by: Principal) -> Seeds:
        limit = order.from_targets.limit if order.from_targets is not None else None
        urls = targets.enabled_urls(tx, by.organizations, limit or budget.MAX_CRAWL_PAGES)
        if not urls:
            raise NoEnabledTarget
        return Seeds(urls, len(urls))

    def _free_slot(self, tx: Tx, by: Principal) -> int:
        running = crawls.running(tx)
        taken = {crawl.slot for crawl in running}
        for slot in range(1, self._terms.max_running_crawls + 1):
            if slot not in taken:
                return slot
        for crawl in running:
            if by.sees is None or crawl.organization in by.sees:
                raise CrawlRuns(crawl.id, crawl.started_at)
        raise SlotsTaken


def _insert_first_level(tx: Tx, crawl_id: str, urls: tuple[str, ...], at: datetime) -> None:
    rows = [(new_id("p"), url, authority(url)) for url in urls]
    pages.insert_frontier(tx, crawl_id=crawl_id, depth=0, pages=rows)
    levels.open_level(tx, crawl_id=crawl_id, depth=0, attempt=1, at=at)


def _given_seeds(order: StartCrawl) -> list[str] | None:
    """The seeds of the order, checked, or None where it takes them from the targets."""
    if order.seeds is not None and order.from_targets is not None:
        raise BadInput.at("fromTargets", "came together with seeds; give exactly one of them")
    if order.seeds is None:
        if order.from_targets is None:
            raise BadInput.at("seeds", "is missing; give seeds, or fromTargets to begin at the enabled targets")
        return None
    return checked_urls(order.seeds, "seeds")


def checked_urls(values: list[str], field: str) -> list[str]:
    """URLs as they enter a frontier, in order. Raises BadInput naming each that cannot, as `field.place`."""
    urls: list[str] = []
    problems: list[ErrorField] = []
    for place, value in enumerate(values):
        try:
            urls.append(frontier_url(value))
        except ValueError as error:
            problems.append(ErrorField(field=f"{field}.{place}", message=str(error)))
    if problems:
        raise BadInput(problems)
    return urls
