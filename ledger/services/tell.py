"""Telling what was found: each event goes to every channel that wants it, waits for its moment, is sent until taken.

Three steps, each committed by itself, so that a ledger that dies in between loses nothing: events are given to
channels; what waits in a channel becomes messages (`comity.watch.rules.telling` decides when, and what is folded);
messages whose time has come are sent. A message that was sent and not noted is sent again with the same id.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast
from zoneinfo import ZoneInfo

from comity.contract.watch_telling import Quiet, ToldEvent
from comity.watch.rules import telling
from comity.watch.rules.quiet_hours import QuietHours
from comity.watch.rules.rendering import as_text
from comity.watch.rules.telling import LISTED, Kind, Waiting
from ledger import log
from ledger.clock import Clock
from ledger.rules.watch_diffs import unpacked
from ledger.rules.watch_pages import EVENT_PREFIX, page_id
from ledger.rules.watch_wish import Wish, wants
from ledger.services.deliver import Deliverer, Sending, Sent
from ledger.store import watch_channels
from ledger.store.database import Store
from ledger.store.models_telling import WatchChannel, WatchMessage
from ledger.store.models_watch import WatchEvent
from ledger.store.watch_channels import GIVEN_UP, SENT

MESSAGE_PREFIX = "m"
TURN = "telling"
"""One ledger of a database at a time tells."""
EVENTS_AT_ONCE = 500
SENT_AT_ONCE = 8
STOP_WAIT_S = 2.0
DIFF_CHARACTERS = 20_000
PROBLEM_CHARACTERS = 300


class Teller:
    """`every_s` between two looks."""

    def __init__(self, store: Store, deliverer: Deliverer, clock: Clock, *, every_s: float) -> None:
        self._store = store
        self._deliverer = deliverer
        self._clock = clock
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """From now on, look after look in a thread of its own, until `stop`."""
        self._thread = threading.Thread(target=self._run, name="telling", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Begin no more, and wait a little for what is being sent."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_WAIT_S)
        self._deliverer.close()

    def _run(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                with self._store.exclusively(TURN) as alone:
                    while alone and not self._stopping.is_set() and self.one_look():
                        pass
            except Exception as error:  # the next look tries again
                if not self._stopping.is_set():
                    log.failure("telling_failed", error)

    def one_look(self) -> bool:
        """All three steps once. Whether something was done, so that there may be more."""
        given = self._give()
        made = self._make_messages()
        sent = self._send()
        return given or made or sent

    def _give(self) -> bool:
        with self._store.reading() as tx:  # mostly there is nothing, and nobody needs to wait for that
            if not watch_channels.untold(tx, 1):
                return False
        with self._store.writing() as tx:
            events = watch_channels.untold(tx, EVENTS_AT_ONCE)
            channels = watch_channels.that_tell(tx, {event.organization for event in events})
            lists = watch_channels.lists_of(tx, {event.page_id for event in events}) if channels else set()
            tellings = [
                (channel.id, event.id)
                for event in events
                for channel in channels
                if wants(_wish(channel), event.kind, event.page_id, event.at, lists)
                and channel.organization == event.organization
            ]
            watch_channels.give(tx, tellings, events, at=self._clock())
        return True

    def _make_messages(self) -> bool:
        with self._store.reading() as tx:
            if not watch_channels.to_look_at(tx, now=self._clock()):
                return False
        done = False
        with self._store.writing() as tx:
            now = self._clock()
            for channel in watch_channels.to_look_at(tx, now=now):
                waiting = [_waiting(event) for event in watch_channels.waiting(tx, channel.id)]
                over = telling.mended(waiting)
                if over:
                    watch_channels.mend(tx, channel.id, [_number(one) for one in over])
                decision = telling.decide(waiting, now=now, quiet=_quiet(channel))
                for message in decision.messages:
                    watch_channels.make_message(
                        tx, channel.id, message.kind, [_number(one) for one in message.events], at=now
                    )
                # What did not fit into this look is nobody's reason to wait for the next event.
                full = len(waiting) == watch_channels.TAKEN_AT_ONCE and bool(decision.messages or over)
                channel.look_at = now if full else decision.look_again_at
                done = done or full or bool(decision.messages)
            tx.flush()
        return done

    def _send(self) -> bool:
        with self._store.reading() as tx:
            work: list[tuple[WatchChannel, Sending]] = []
            for one in watch_channels.due(tx, now=self._clock(), limit=SENT_AT_ONCE):
                channel = watch_channels.get(tx, one.channel_id, None)
                told = watch_channels.events_of(tx, one.id, LISTED)
                if channel is not None and told:
                    work.append((channel, _sending(one, told, watch_channels.count_of(tx, one.id))))
        if not work:
            return False
        with ThreadPoolExecutor(SENT_AT_ONCE, "tell") as pool:
            outcomes = list(pool.map(lambda pair: self._deliverer.send(*pair), work))
        for (channel, sending), outcome in zip(work, outcomes, strict=True):
            self._note(channel.id, sending, outcome)
        return True

    def _note(self, ident: str, sending: Sending, outcome: Sent) -> None:
        number = _message_number(sending)
        with self._store.writing() as tx:
            message = watch_channels.message(tx, number)
            channel = watch_channels.get(tx, ident, None, lock=True)
            if message is None or channel is None:  # removed while it was sent
                return
            now = self._clock()
            message.tries += 1
            message.problem = None if outcome.problem is None else outcome.problem[:PROBLEM_CHARACTERS]
            if outcome.problem is None:
                message.state, message.sent_at, message.next_try_at = SENT, now, None
                channel.last_sent_at, channel.last_problem = now, None
            else:
                again = telling.next_try_at(message.tries, now=now, retry_after=outcome.retry_after)
                message.next_try_at = again
                if again is None:
                    message.state = GIVEN_UP
                channel.last_problem = message.problem
                if outcome.gone:
                    channel.enabled = False
            tx.flush()
            state = message.state
        log.event(
            "watch_message_tried", channel=ident, message=sending.message_id, state=state, problem=outcome.problem
        )


def _wish(channel: WatchChannel) -> Wish:
    return Wish(frozenset(channel.kinds), channel.created_at, channel.page_id, channel.list_id)


def _waiting(event: WatchEvent) -> Waiting:
    return Waiting(f"{EVENT_PREFIX}{event.id}", cast(Kind, event.kind), page_id(event.page_id), event.at)


def _number(one: Waiting) -> int:
    return int(one.event_id.removeprefix(EVENT_PREFIX))


def _quiet(channel: WatchChannel) -> QuietHours | None:
    if channel.quiet is None:
        return None
    quiet = Quiet.model_validate(channel.quiet)
    return QuietHours(quiet.begin_time, quiet.end_time, ZoneInfo(quiet.zone))


def _sending(message: WatchMessage, told: Sequence[WatchEvent], count: int) -> Sending:
    """`told`: the first of its events, with their diffs where there is one event alone."""
    return Sending(
        f"{MESSAGE_PREFIX}{message.id}", message.kind, count, tuple(_told(event, whole=count == 1) for event in told)
    )


def _message_number(sending: Sending) -> int:
    return int(sending.message_id.removeprefix(MESSAGE_PREFIX))


def _told(event: WatchEvent, *, whole: bool) -> ToldEvent:
    diff = as_text(unpacked(event.diff)) if whole and event.diff is not None else None
    return ToldEvent(
        event_id=f"{EVENT_PREFIX}{event.id}",
        page_id=page_id(event.page_id),
        url=event.url,
        title=event.title or event.url,
        at=event.at,
        removed_lines=event.removed_lines,
        added_lines=event.added_lines,
        problem=event.problem,
        diff=None if diff is None else diff[:DIFF_CHARACTERS],
    )
