"""Rows of crawls, their pinned scripts and the keys that started them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import Select, bindparam, delete, func, literal, select, tuple_
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import undefer

from comity.contract.events import CrawlEnded
from comity.contract.ledger import CrawlState, StopReason
from comity.contract.scripts import PinnedScript
from ledger.rules.fence import Holder
from ledger.rules.stop_reason import Ending
from ledger.store import events
from ledger.store.database import Tx
from ledger.store.models import Crawl, CrawlScript, Level, Page, StartKey
from ledger.store.types import UtcTime

FIRST_SEEDS = 5
"""How many of a crawl's seeds lists show; it may have 10,000."""

LONGEST_CRAWL = timedelta(days=90)
"""So that the index over starts finds the crawls that ended lately."""

_crawl, _level = Crawl.__table__, Level.__table__
_HOLDER = (
    select(_crawl.c.state, _crawl.c.depth, _crawl.c.attempt, _level.c.run_id, _level.c.flow_run_id)
    .join_from(
        _crawl,
        _level,
        (_level.c.crawl_id == _crawl.c.id)
        & (_level.c.depth == _crawl.c.depth)
        & (_level.c.attempt == _crawl.c.attempt),
    )
    .where(_crawl.c.id == bindparam("crawl_id"))
    .with_for_update(read=True, of=_crawl)
)


def get(tx: Tx, crawl_id: str, organizations: Sequence[str] | None = None, *, with_seeds: bool = False) -> Crawl | None:
    """The crawl, or None where these organisations have none by that id."""
    query = _of(select(Crawl).where(Crawl.id == crawl_id), organizations)
    return tx.scalars(query.options(undefer(Crawl.seeds)) if with_seeds else query).one_or_none()


def get_to_change(tx: Tx, crawl_id: str) -> Crawl | None:
    """The crawl, its row locked until the transaction ends, so that two decisions about it never interleave."""
    return tx.scalars(select(Crawl).where(Crawl.id == crawl_id).with_for_update()).one_or_none()


def holder_to_rely_on(tx: Tx, crawl_id: str) -> Holder | None:
    """Who holds the crawl's current level. The crawl is kept from changing until the transaction ends.

    Others may rely on it at the same time. A few columns, for this is asked before and after every visit.
    """
    row = tx.execute(_HOLDER, {"crawl_id": crawl_id}).one_or_none()
    return None if row is None else Holder(cast(CrawlState, row[0]), *row[1:])


def newest(tx: Tx, organizations: Sequence[str] | None, limit: int, *, before: Crawl | None = None) -> Sequence[Crawl]:
    """Newest first, of these organisations (None: of all); `before`: those that come after this one in the list."""
    query = _of(select(Crawl), organizations).order_by(Crawl.started_at.desc(), Crawl.id.desc()).limit(limit)
    if before is not None:
        query = query.where(
            tuple_(Crawl.started_at, Crawl.id) < tuple_(literal(before.started_at, UtcTime()), before.id)
        )
    return tx.scalars(query).all()


def _of(query: Select[Crawl], organizations: Sequence[str] | None) -> Select[Crawl]:
    return query if organizations is None else query.where(Crawl.organization.in_(organizations))


def counts_by_state(tx: Tx) -> dict[str, int]:
    """How many crawls are in each state."""
    query = select(Crawl.state, func.count()).group_by(Crawl.state)
    return {row.state: row[1] for row in tx.execute(query)}


def ended_before(tx: Tx, at: datetime, limit: int, *, after: str = "") -> list[str]:
    """Ids of crawls that ended before a time, in id order, from beyond the id `after`."""
    query = select(Crawl.id).where(Crawl.state != "running", Crawl.finished_at < at, Crawl.id > after)
    return list(tx.scalars(query.order_by(Crawl.id).limit(limit)))


def remove(tx: Tx, crawl: Crawl) -> None:
    """Remove the crawl with all that belongs to it: the database's own references take the rest along."""
    tx.execute(delete(Crawl).where(Crawl.id == crawl.id))


def keep_bytes(tx: Tx, crawl: Crawl, size_bytes: int) -> None:
    """Artifacts of this size were admitted."""
    crawl.kept_bytes += size_bytes
    tx.flush()


def running(tx: Tx) -> Sequence[Crawl]:
    """Every running crawl, oldest first."""
    return tx.scalars(select(Crawl).where(Crawl.state == "running").order_by(Crawl.started_at, Crawl.id)).all()


def finished_since(tx: Tx, moment: datetime) -> Sequence[Crawl]:
    """Crawls that ended after that, oldest first; those that began over 90 days before it are left out."""
    query = (
        select(Crawl)
        .where(Crawl.finished_at > moment, Crawl.started_at > moment - LONGEST_CRAWL)
        .order_by(Crawl.started_at, Crawl.id)
    )
    return tx.scalars(query).all()


def insert(
    tx: Tx,
    *,
    crawl_id: str,
    slot: int,
    organization: str,
    started_by: str,
    policy: dict[str, Any],
    seeds: list[str],
    bitten: StopReason | None,
    at: datetime,
) -> bool:
    """Insert a running crawl. False where its slot was taken in the meantime: the unique index decides."""
    crawl = Crawl(
        id=crawl_id,
        state="running",
        slot=slot,
        organization=organization,
        started_by=started_by,
        policy=policy,
        seeds=seeds,
        seed_count=len(seeds),
        first_seeds=seeds[:FIRST_SEEDS],
        depth=0,
        attempt=1,
        bitten=bitten,
        started_at=at,
    )
    try:
        with tx.begin_nested():
            tx.add(crawl)
            tx.flush()
    except IntegrityError:
        return False
    return True


def advance(tx: Tx, crawl: Crawl, *, depth: int, bitten: StopReason | None) -> None:
    """The crawl goes on to its next level, which begins with attempt 1."""
    crawl.depth, crawl.attempt, crawl.bitten = depth, 1, bitten
    tx.flush()


def try_again(tx: Tx, crawl: Crawl, *, attempt: int) -> None:
    """The crawl stays at its level and begins another attempt at it."""
    crawl.attempt = attempt
    tx.flush()


def end(tx: Tx, crawl: Crawl, ending: Ending, *, at: datetime) -> None:
    """The crawl is over; its slot is free."""
    crawl.state, crawl.stop_reason, crawl.error = ending.state, ending.stop_reason, ending.error
    crawl.slot, crawl.finished_at = None, at
    events.tell(tx, crawl.id, CrawlEnded(at=at, state=ending.state, stop_reason=ending.stop_reason, error=ending.error))
    tx.flush()


def revise_ending(tx: Tx, crawl: Crawl, ending: Ending) -> None:
    """The crawl ended otherwise than was thought; when it ended stays."""
    crawl.state, crawl.stop_reason, crawl.error = ending.state, ending.stop_reason, ending.error
    tx.flush()


def record_compiled(tx: Tx, crawl: Crawl, compiled: dict[str, Any]) -> None:
    """What compiled the crawl's scripts, once."""
    crawl.compiled = compiled
    tx.flush()


def pin_scripts(tx: Tx, crawl_id: str, scripts: Sequence[PinnedScript]) -> None:
    """Write the crawl's scripts, in the order they will run."""
    tx.add_all(
        CrawlScript(
            crawl_id=crawl_id,
            position=place,
            script_id=script.id,
            version=script.version,
            phase=script.phase,
            source=script.source,
            sha256=script.sha256,
            options=script.options,
        )
        for place, script in enumerate(scripts)
    )
    tx.flush()


def scripts(tx: Tx, crawl_ids: Iterable[str], *, with_source: bool = False) -> dict[str, list[CrawlScript]]:
    """The pinned scripts of each crawl, in order."""
    query = select(CrawlScript).where(CrawlScript.crawl_id.in_(list(crawl_ids))).order_by(CrawlScript.position)
    found: dict[str, list[CrawlScript]] = {}
    for script in tx.scalars(query.options(undefer(CrawlScript.source)) if with_source else query):
        found.setdefault(script.crawl_id, []).append(script)
    return found


def page_counts(tx: Tx, crawl_ids: Iterable[str]) -> dict[str, dict[str, int]]:
    """Pages by state of each crawl, counted in the index alone."""
    query = (
        select(Page.crawl_id, Page.state, func.count())
        .where(Page.crawl_id.in_(list(crawl_ids)))
        .group_by(Page.crawl_id, Page.state)
    )
    found: dict[str, dict[str, int]] = {}
    for crawl_id, state, count in tx.execute(query):
        found.setdefault(crawl_id, {})[state] = count
    return found


def start_key(tx: Tx, organization: str, subject: str, key: str) -> StartKey | None:
    """What this caller's Idempotency-Key started, or None."""
    return tx.get(StartKey, (organization, subject, key))


def keep_start_key(
    tx: Tx, *, organization: str, subject: str, key: str, body_sha256: str, crawl_id: str, at: datetime
) -> None:
    """Remember what the key started."""
    tx.add(
        StartKey(
            organization=organization,
            subject=subject,
            key=key,
            body_sha256=body_sha256,
            crawl_id=crawl_id,
            used_at=at,
        )
    )
    tx.flush()
