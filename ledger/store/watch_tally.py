"""Counts of the queue, kept as pages move (see `ledger.rules.watch_tally`), and the pace at which visits begin."""

import secrets
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, or_, select, update

from ledger.rules.watch_pace import Pace
from ledger.rules.watch_tally import SHARDS, LaneFigures, TallyChange, figures, minute_of
from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models_watch_queue import WatchHost, WatchPace, WatchTally

KEY = ["lane", "minute", "organization", "shard"]
PLENTY = 1e9
"""What a new lane may begin with: as much as can be saved up."""
MANY = 10_000
"""More hosts than this are not counted out: who looks wants to know that there are many."""


def apply(tx: Tx, change: TallyChange) -> None:
    """Write what the transaction did, as its last step: the locks of these rows are the most wanted ones."""
    shard = secrets.randbelow(SHARDS) if tx.get_bind().dialect.name == "postgresql" else 0
    rows = [
        {"lane": lane, "organization": organization, "minute": minute, "shard": shard, "pages": count}
        for (lane, organization, minute), count in change.changes()
    ]
    dialect.add_up(tx, WatchTally, rows, KEY, "pages")


def lane_figures(
    tx: Tx, organizations: Sequence[str] | None, *, now: datetime, lanes: Sequence[int]
) -> dict[int, LaneFigures]:
    """Processing | Delayed | Queued of these organisations (None: all), by lane."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    # A range of the key for each lane: a scan of all minutes to come would cost what there is to come.
    for lane in lanes:
        query = select(WatchTally.minute, func.sum(WatchTally.pages)).where(
            WatchTally.lane == lane, WatchTally.minute < minute_of(now)
        )
        if organizations is not None:
            query = query.where(WatchTally.organization.in_(organizations))
        found[lane] = [(minute, int(pages)) for minute, pages in tx.execute(query.group_by(WatchTally.minute))]
    return {lane: figures(found[lane], now=now) for lane in lanes}


def forget_empty(tx: Tx, *, before: datetime) -> None:
    """Remove counts of past minutes that have come to nothing: their shards add up to zero."""
    past = WatchTally.minute < minute_of(before), WatchTally.minute >= 0
    empty = (
        select(WatchTally.lane, WatchTally.organization, WatchTally.minute)
        .where(*past)
        .group_by(WatchTally.lane, WatchTally.organization, WatchTally.minute)
        .having(func.sum(WatchTally.pages) == 0)
        .order_by(WatchTally.lane, WatchTally.organization, WatchTally.minute)  # as all transactions lock them
    )
    for lane, organization, minute in tx.execute(empty).all():
        this = (
            WatchTally.lane == lane,
            WatchTally.organization == organization,
            WatchTally.minute == minute,
        )
        rows = tx.execute(select(WatchTally.pages).where(*this).with_for_update()).scalars().all()
        if sum(rows) == 0:
            tx.execute(delete(WatchTally).where(*this))


def hosts_ready(tx: Tx, lane: int, *, now: datetime) -> int:
    """Hosts that could be claimed now, at most MANY."""
    found = [
        select(WatchHost.id).where(WatchHost.lane == lane, WatchHost.ahead == ahead, WatchHost.ready_at <= now)
        for ahead in (True, False)
    ]
    return min(MANY, sum(tx.scalar(select(func.count()).select_from(one.limit(MANY).subquery())) or 0 for one in found))


def hosts_resting(tx: Tx, lane: int, *, now: datetime) -> int:
    """Hosts with a page that is due whose rest is not over, at most MANY."""
    query = select(WatchHost.id).where(
        WatchHost.lane == lane,
        WatchHost.ready_at > WatchHost.first_due_at,
        WatchHost.ready_at > now,
        or_(WatchHost.first_due_at <= now, WatchHost.first_due_at.is_(None)),
    )
    return tx.scalar(select(func.count()).select_from(query.limit(MANY).subquery())) or 0


def pace_to_change(tx: Tx, lane: int, *, now: datetime) -> Pace:
    """How many visits may begin, its row locked."""
    query = select(WatchPace).where(WatchPace.lane == lane).with_for_update()
    row = tx.scalars(query).one_or_none()
    if row is None:
        dialect.insert_new(tx, WatchPace, [{"lane": lane, "allowance": PLENTY, "at": now}], ["lane"])
        row = tx.scalars(query).one()
    return Pace(row.allowance, row.at)


def set_pace(tx: Tx, lane: int, pace: Pace) -> None:
    """Keep what is left."""
    tx.execute(update(WatchPace).where(WatchPace.lane == lane).values(allowance=pace.left, at=pace.at))


def give_back(tx: Tx, lane: int, count: int) -> None:
    """Visits that were allowed did not begin."""
    if count:
        statement = update(WatchPace).where(WatchPace.lane == lane)
        tx.execute(statement.values(allowance=WatchPace.allowance + count))
