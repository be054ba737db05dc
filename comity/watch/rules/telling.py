"""What is told now of what waits to be told: at once, folded into one message, or later."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from comity.watch.rules.quiet_hours import QuietHours

Kind = Literal["changed", "failing", "recovered"]

AT_ONCE = 5
"""So many messages of one kind tell each its page. More at once fold into one: whoever gets 300 reads none."""
FOLD_WINDOW = timedelta(minutes=1)
"""Events of failure wait so long for others: when a network dies, it dies for many pages, one after the other."""
LISTED = 20
"""Pages that a folded message names; the rest is a number."""
RETRY_AFTER = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
"""A receiver that is away overnight still hears of everything. After the last wait a message is given up."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event that a channel has not told yet. `event_id`s grow."""

    event_id: str
    kind: Kind
    page_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """Events that are told as one: alone, or folded."""

    kind: Kind
    events: tuple[Waiting, ...]

    @property
    def folded(self) -> bool:
        return len(self.events) > 1


@dataclass(frozen=True, slots=True)
class Decision:
    """`messages` are to be sent, in order; what is in none of them waits until `look_again_at`, or for more to come."""

    messages: tuple[Message, ...]
    look_again_at: datetime | None = None


def decide(waiting: Sequence[Waiting], *, now: datetime, quiet: QuietHours | None = None) -> Decision:
    """What of `waiting`, oldest first, is told now.

    In quiet hours nothing is; afterwards everything, folded where it is much. A page that failed and recovered while it
    waited is not told about at all: nobody could act on it.
    """
    until = quiet.until(now) if quiet is not None else None
    if until is not None:
        return Decision((), until)
    messages: list[Message] = []
    look_again_at: datetime | None = None
    left = _without_what_mended_itself(waiting)
    for kind in ("changed", "failing", "recovered"):
        events = tuple(one for one in left if one.kind == kind)
        if not events:
            continue
        ripe_at = events[0].at + FOLD_WINDOW if kind != "changed" else events[0].at
        if now < ripe_at:
            look_again_at = min(look_again_at or ripe_at, ripe_at)
        elif len(events) > AT_ONCE:
            messages.append(Message(kind, events))
        else:
            messages.extend(Message(kind, (one,)) for one in events)
    messages.sort(key=lambda message: message.events[0].at)
    return Decision(tuple(messages), look_again_at)


def mended(waiting: Sequence[Waiting]) -> tuple[Waiting, ...]:
    """Those of `waiting` that need no telling: a failure and the recovery after it."""
    left = {one.event_id for one in _without_what_mended_itself(waiting)}
    return tuple(one for one in waiting if one.event_id not in left)


def _without_what_mended_itself(waiting: Sequence[Waiting]) -> list[Waiting]:
    failing: dict[str, Waiting] = {}
    gone: set[str] = set()
    for one in waiting:
        if one.kind == "failing":
            failing[one.page_id] = one
        elif one.kind == "recovered" and one.page_id in failing:
            gone.update((one.event_id, failing.pop(one.page_id).event_id))
    return [one for one in waiting if one.event_id not in gone]


def next_try_at(tries: int, *, now: datetime, retry_after: timedelta | None = None) -> datetime | None:
    """When a message that was tried `tries` times (at least 1) is tried again; None: it is given up.

    `retry_after`: what the receiver asked for; at most a day of it is believed.
    """
    if tries > len(RETRY_AFTER):
        return None
    wait = RETRY_AFTER[tries - 1]
    if retry_after is not None:
        wait = max(wait, min(retry_after, timedelta(days=1)))
    return now + wait
