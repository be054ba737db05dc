"""`/api/watch/channels`: who is told, and what became of what they were told."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal, cast
from urllib.parse import urlsplit

from comity.contract.watch import EventKind
from comity.contract.watch_telling import (
    MAX_CHANNELS,
    ChangeChannel,
    Channel,
    ChannelKind,
    ChannelMade,
    Channels,
    Message,
    Messages,
    NewChannel,
    NewSecret,
    Quiet,
    Tried,
)
from comity.watch.rules.webhook import secret_text
from ledger import log
from ledger.clock import Clock
from ledger.errors import BadInput, Unknown
from ledger.ids import new_id
from ledger.principal import Principal
from ledger.rules.watch_pages import EVENT_PREFIX, number_of, page_id
from ledger.services.deliver import Deliverer
from ledger.services.tell import MESSAGE_PREFIX
from ledger.store import watch_channels, watch_lists, watch_pages
from ledger.store.database import Store, Tx
from ledger.store.models_telling import WatchChannel, WatchMessage
from ledger.store.watch_channels import ChannelRow

SECRET_BYTES = 32
PAGE = 100


class ChannelService:
    """Makes, shows, changes and removes channels."""

    def __init__(self, store: Store, deliverer: Deliverer, clock: Clock) -> None:
        self._store = store
        self._deliverer = deliverer
        self._clock = clock

    def create(self, order: NewChannel, *, by: Principal) -> ChannelMade:
        """A new channel; a webhook's secret is told this once. Raises BadInput."""
        self._deliverer.check(order.kind, order.target)
        secret = secrets.token_bytes(SECRET_BYTES) if order.kind == "webhook" else None
        with self._store.writing() as tx:
            if watch_channels.count(tx, by.home) >= MAX_CHANNELS:
                raise BadInput.at("name", f"there are {MAX_CHANNELS} channels already; remove one first")
            row = WatchChannel(
                id=new_id("n"),
                organization=by.home,
                name=order.name,
                kind=order.kind,
                target=order.target,
                secret=secret,
                list_id=_list(tx, order.list_id, by),
                page_id=_page(tx, order.page_id, by),
                kinds=list(dict.fromkeys(order.kinds)),
                quiet=None if order.quiet is None else order.quiet.to_wire(),
                enabled=True,
                created_at=self._clock(),
            )
            watch_channels.add(tx, row)
            view = _view(ChannelRow(row, 0, 0))
        log.event("watch_channel_created", channel=view.channel_id, kind=view.kind, by=by.subject)
        return ChannelMade(channel=view, secret=None if secret is None else secret_text(secret))

    def listed(self, *, by: Principal) -> Channels:
        """The caller's channels."""
        with self._store.reading() as tx:
            return Channels(channels=[_view(row) for row in watch_channels.every(tx, by.sees)])

    def one(self, ident: str, *, by: Principal) -> Channel:
        """Raises Unknown."""
        with self._store.reading() as tx:
            return _view(watch_channels.with_counts(tx, [_get(tx, ident, by)])[0])

    def change(self, ident: str, order: ChangeChannel, *, by: Principal) -> Channel:
        """What is given replaces the old value. Switched on again, it tells what waited. Raises Unknown, BadInput."""
        with self._store.writing() as tx:
            row = _get(tx, ident, by, lock=True)
            if order.target is not None:
                self._deliverer.check(cast(ChannelKind, row.kind), order.target)
                row.target = order.target
            if order.name is not None:
                row.name = order.name
            if order.kinds is not None:
                row.kinds = list(dict.fromkeys(order.kinds))
            if "quiet" in order.model_fields_set:
                row.quiet = None if order.quiet is None else order.quiet.to_wire()
            if order.enabled is not None:
                row.enabled = order.enabled
                row.last_problem = None if order.enabled else row.last_problem
            row.look_at = self._clock()
            tx.flush()
            return _view(watch_channels.with_counts(tx, [row])[0])

    def renew_secret(self, ident: str, order: NewSecret, *, by: Principal) -> ChannelMade:
        """A webhook's next secret; the old one signs too for a while. Raises Unknown, BadInput."""
        secret = secrets.token_bytes(SECRET_BYTES)
        with self._store.writing() as tx:
            row = _get(tx, ident, by, lock=True)
            if row.kind != "webhook":
                raise BadInput.at("channelId", "only webhooks are signed; what this one needs is in its target")
            row.old_secret, row.secret = row.secret, secret
            row.old_secret_until = self._clock() + timedelta(hours=order.old_for_hours)
            tx.flush()
            view = _view(watch_channels.with_counts(tx, [row])[0])
        log.event("watch_channel_secret_renewed", channel=ident, by=by.subject)
        return ChannelMade(channel=view, secret=secret_text(secret))

    def remove(self, ident: str, *, by: Principal) -> None:
        """It tells nothing any more. Raises Unknown."""
        with self._store.writing() as tx:
            watch_channels.remove(tx, _get(tx, ident, by, lock=True))
        log.event("watch_channel_removed", channel=ident, by=by.subject)

    def test(self, ident: str, *, by: Principal) -> Tried:
        """Send a message that says it is a test, now, quiet hours or not. Raises Unknown."""
        with self._store.reading() as tx:
            row = _get(tx, ident, by)
        return self._deliverer.test(row)

    def messages(self, ident: str, *, before: str | None, by: Principal) -> Messages:
        """What the channel told and has to tell, newest first. Raises Unknown, BadInput."""
        number = None
        if before is not None:
            number = number_of(before, MESSAGE_PREFIX)
            if number is None:
                raise BadInput.at("before", "give back what the page before had as `next`")
        with self._store.reading() as tx:
            _get(tx, ident, by)
            rows = list(watch_channels.messages(tx, ident, before=number, limit=PAGE + 1))
            more = len(rows) > PAGE
            rows = rows[:PAGE]
            told: dict[int, list[str]] = {}
            for message, event in watch_channels.event_numbers(tx, [row.id for row in rows]):
                told.setdefault(message, []).append(f"{EVENT_PREFIX}{event}")
        found = [_message(row, told.get(row.id, [])) for row in rows]
        return Messages(messages=found, next=found[-1].message_id if more else None)


def _get(tx: Tx, ident: str, by: Principal, *, lock: bool = False) -> WatchChannel:
    row = watch_channels.get(tx, ident, by.sees, lock=lock)
    if row is None:
        raise Unknown("channel", ident)
    return row


def _list(tx: Tx, ident: str | None, by: Principal) -> str | None:
    if ident is not None and not watch_lists.known(tx, [ident], by.home):
        raise BadInput.at("listId", f"there is no list {ident}")
    return ident


def _page(tx: Tx, ident: str | None, by: Principal) -> int | None:
    number = None if ident is None else number_of(ident)
    if ident is not None and (number is None or watch_pages.get(tx, number, [by.home]) is None):
        raise BadInput.at("pageId", f"there is no page {ident}")
    return number


def _view(row: ChannelRow) -> Channel:
    channel = row.channel
    return Channel(
        channel_id=channel.id,
        name=channel.name,
        kind=cast(ChannelKind, channel.kind),
        target=shown(channel.kind, channel.target),
        list_id=channel.list_id,
        page_id=None if channel.page_id is None else page_id(channel.page_id),
        kinds=cast(Sequence[EventKind], channel.kinds),
        quiet=None if channel.quiet is None else Quiet.model_validate(channel.quiet),
        enabled=channel.enabled,
        organization=channel.organization,
        created_at=channel.created_at,
        last_sent_at=channel.last_sent_at,
        last_problem=channel.last_problem,
        waiting=row.waiting,
        given_up=row.given_up,
    )


def shown(kind: str, target: str) -> str:
    """A target without what may be secret in it: of Apprise's URLs even the host can be a token."""
    parts = urlsplit(target)
    if kind == "apprise":
        return f"{parts.scheme or target.partition(':')[0]}://…"
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}/…"


def _message(row: WatchMessage, events: list[str]) -> Message:
    return Message(
        message_id=f"{MESSAGE_PREFIX}{row.id}",
        kind=cast(EventKind, row.kind),
        state=cast(Literal["waiting", "sent", "given-up"], row.state),
        created_at=row.created_at,
        events=events,
        tries=row.tries,
        next_try_at=row.next_try_at,
        sent_at=row.sent_at,
        problem=row.problem,
    )
