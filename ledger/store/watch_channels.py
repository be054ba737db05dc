"""Rows of channels, what waits to be told in each, and the messages made of it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import undefer

from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models_telling import WatchChannel, WatchMessage, WatchTelling
from ledger.store.models_watch import WatchEvent, WatchMember

WAITING, SENT, GIVEN_UP = "waiting", "sent", "given-up"
TAKEN_AT_ONCE = 500


@dataclass(frozen=True)
class ChannelRow:
    """A channel, and how many of its messages have not gone out, and never will."""

    channel: WatchChannel
    waiting: int
    given_up: int


def add(tx: Tx, row: WatchChannel) -> None:
    """A new channel. What was found before it came is not told."""
    tx.add(row)
    tx.flush()


def count(tx: Tx, organization: str) -> int:
    """How many channels the organisation has."""
    query = select(func.count()).select_from(WatchChannel).where(WatchChannel.organization == organization)
    return tx.scalars(query).one()


def get(tx: Tx, ident: str, organizations: Sequence[str] | None, *, lock: bool = False) -> WatchChannel | None:
    """The channel, or None where these organisations have none by that id."""
    query = select(WatchChannel).where(WatchChannel.id == ident)
    row = tx.scalars(query.with_for_update() if lock else query).one_or_none()
    return None if row is None or (organizations is not None and row.organization not in organizations) else row


def every(tx: Tx, organizations: Sequence[str] | None) -> list[ChannelRow]:
    """The channels of these organisations, oldest first."""
    query = select(WatchChannel).order_by(WatchChannel.created_at, WatchChannel.id)
    if organizations is not None:
        query = query.where(WatchChannel.organization.in_(organizations))
    return with_counts(tx, tx.scalars(query).all())


def with_counts(tx: Tx, channels: Sequence[WatchChannel]) -> list[ChannelRow]:
    """Each with its messages counted; what waits for others to fold with counts as one more each."""
    idents = [channel.id for channel in channels]
    by_state = (
        select(WatchMessage.channel_id, WatchMessage.state, func.count())
        .where(WatchMessage.channel_id.in_(idents), WatchMessage.state != SENT)
        .group_by(WatchMessage.channel_id, WatchMessage.state)
    )
    found = {(ident, state): number for ident, state, number in tx.execute(by_state)}
    untold = (
        select(WatchTelling.channel_id, func.count())
        .where(WatchTelling.channel_id.in_(idents), WatchTelling.message_id.is_(None), ~WatchTelling.mended)
        .group_by(WatchTelling.channel_id)
    )
    more = dict(tx.execute(untold).all())
    return [
        ChannelRow(one, found.get((one.id, WAITING), 0) + more.get(one.id, 0), found.get((one.id, GIVEN_UP), 0))
        for one in channels
    ]


def remove(tx: Tx, row: WatchChannel) -> None:
    """The channel goes, with what it had to tell."""
    tx.delete(row)
    tx.flush()


# --- from events to what each channel has to tell


def untold(tx: Tx, limit: int) -> Sequence[WatchEvent]:
    """Events that no channel was given yet, oldest first."""
    query = select(WatchEvent).where(WatchEvent.told_at.is_(None)).order_by(WatchEvent.id).limit(limit)
    return tx.scalars(query).all()


def that_tell(tx: Tx, organizations: Collection[str]) -> Sequence[WatchChannel]:
    """The enabled channels of these organisations."""
    query = select(WatchChannel).where(WatchChannel.organization.in_(organizations), WatchChannel.enabled)
    return tx.scalars(query).all()


def lists_of(tx: Tx, pages: Collection[int]) -> set[tuple[str, int]]:
    """(list, page) of every list that these pages are in."""
    query = select(WatchMember.list_id, WatchMember.page_id).where(WatchMember.page_id.in_(pages))
    return set(tx.execute(query))


def give(tx: Tx, tellings: Iterable[tuple[str, int]], events: Sequence[WatchEvent], *, at: datetime) -> None:
    """Each channel has these events to tell; nobody looks at the events again."""
    rows = [{"channel_id": channel, "event_id": event, "mended": False} for channel, event in tellings]
    dialect.insert_new(tx, WatchTelling, rows, ["channel_id", "event_id"])
    for channel in {row["channel_id"] for row in rows}:
        tx.execute(update(WatchChannel).where(WatchChannel.id == channel).values(look_at=at))
    for event in events:
        event.told_at = at
    tx.flush()


# --- from what waits to messages


def to_look_at(tx: Tx, *, now: datetime) -> Sequence[WatchChannel]:
    """Channels in which something waits that may be told now."""
    return tx.scalars(select(WatchChannel).where(WatchChannel.look_at <= now).order_by(WatchChannel.look_at)).all()


def waiting(tx: Tx, channel: str) -> Sequence[WatchEvent]:
    """What the channel has to tell and has in no message, oldest first."""
    query = (
        select(WatchEvent)
        .join(WatchTelling, WatchTelling.event_id == WatchEvent.id)
        .where(WatchTelling.channel_id == channel, WatchTelling.message_id.is_(None), ~WatchTelling.mended)
        .order_by(WatchEvent.id)
        .limit(TAKEN_AT_ONCE)
    )
    return tx.scalars(query).all()


def mend(tx: Tx, channel: str, events: Collection[int]) -> None:
    """These need no telling any more."""
    query = update(WatchTelling).where(WatchTelling.channel_id == channel, WatchTelling.event_id.in_(events))
    tx.execute(query.values(mended=True))


def make_message(tx: Tx, channel: str, kind: str, events: Collection[int], *, at: datetime) -> WatchMessage:
    """A message of these events, due now."""
    message = WatchMessage(channel_id=channel, kind=kind, state=WAITING, created_at=at, tries=0, next_try_at=at)
    tx.add(message)
    tx.flush()
    query = update(WatchTelling).where(WatchTelling.channel_id == channel, WatchTelling.event_id.in_(events))
    tx.execute(query.values(message_id=message.id))
    return message


# --- messages


def due(tx: Tx, *, now: datetime, limit: int) -> Sequence[WatchMessage]:
    """Messages whose time has come, of enabled channels, oldest first; of each channel its oldest one alone."""
    first = (
        select(func.min(WatchMessage.id))
        .join(WatchChannel, WatchChannel.id == WatchMessage.channel_id)
        .where(WatchMessage.state == WAITING, WatchChannel.enabled)
        .group_by(WatchMessage.channel_id)
    )
    query = select(WatchMessage).where(WatchMessage.id.in_(first), WatchMessage.next_try_at <= now)
    return tx.scalars(query.order_by(WatchMessage.next_try_at).limit(limit)).all()


def message(tx: Tx, number: int) -> WatchMessage | None:
    """The message, or None where its channel is gone."""
    return tx.get(WatchMessage, number)


def count_of(tx: Tx, number: int) -> int:
    """How many events the message tells."""
    query = select(func.count()).select_from(WatchTelling).where(WatchTelling.message_id == number)
    return tx.scalars(query).one()


def events_of(tx: Tx, number: int, limit: int) -> Sequence[WatchEvent]:
    """The first events of a message with their diffs, oldest first."""
    query = (
        select(WatchEvent).join(WatchTelling, WatchTelling.event_id == WatchEvent.id).options(undefer(WatchEvent.diff))
    )
    return tx.scalars(query.where(WatchTelling.message_id == number).order_by(WatchEvent.id).limit(limit)).all()


def event_numbers(tx: Tx, messages: Collection[int]) -> list[tuple[int, int]]:
    """(message, event) of these messages."""
    query = select(WatchTelling.message_id, WatchTelling.event_id).where(WatchTelling.message_id.in_(messages))
    return [(one, event) for one, event in tx.execute(query.order_by(WatchTelling.event_id)) if one is not None]


def messages(tx: Tx, channel: str, *, before: int | None, limit: int) -> Sequence[WatchMessage]:
    """Messages of the channel, newest first."""
    query = select(WatchMessage).where(WatchMessage.channel_id == channel).order_by(WatchMessage.id.desc()).limit(limit)
    return tx.scalars(query if before is None else query.where(WatchMessage.id < before)).all()
