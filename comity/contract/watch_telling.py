"""Wire models of telling: who is told what was found on watched pages, how, and where feeds of it are."""

import re
from datetime import time
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator

from comity.contract.watch import EventKind, ListId, PageId
from comity.contract.wire import Answer, Instant, Request

MAX_TARGET_CHARACTERS = 2_000
MAX_CHANNELS = 1_000
"""Of an organisation."""

ChannelKind = Literal["webhook", "apprise"]
"""`webhook`: a signed POST (Standard Webhooks 1.0.0). `apprise`: a message by a service whose URL Apprise knows."""
Name = Annotated[str, Field(min_length=1, max_length=200)]
Target = Annotated[str, Field(min_length=1, max_length=MAX_TARGET_CHARACTERS)]
_WALL_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"


def _hours_and_minutes(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(_WALL_TIME, value) is None:
        raise ValueError(f"{value[:40]!r} is no time of day; write it as HH:MM, from 00:00 to 23:59")
    return value


WallTime = Annotated[str, BeforeValidator(_hours_and_minutes), Field(pattern=_WALL_TIME)]


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone; write one like Europe/Berlin or UTC") from None
    return name


Zone = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_known_zone)]


class Quiet(Request):
    """Hours of the day in which nothing is told: from `begin` to `end` by the clock on the wall in `zone`."""

    begin: WallTime
    end: WallTime
    zone: Zone

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.begin == self.end:
            raise ValueError("begin and end are the same; leave quiet out where no hours are")
        return self

    @property
    def begin_time(self) -> time:
        return time.fromisoformat(self.begin)

    @property
    def end_time(self) -> time:
        return time.fromisoformat(self.end)


Kinds = Annotated[list[EventKind], Field(min_length=1, max_length=3)]
ALL_KINDS: list[EventKind] = ["changed", "failing", "recovered"]


class NewChannel(Request):
    """`POST /api/watch/channels`. It tells of one page, of a list's pages, or of all of the organisation's.

    `target`: the URL that is posted to, or Apprise's URL of a service. It may hold secrets and is not shown again.
    """

    name: Name
    kind: ChannelKind
    target: Target
    list_id: ListId | None = None
    page_id: PageId | None = None
    kinds: Kinds = ALL_KINDS
    quiet: Quiet | None = None

    @model_validator(mode="after")
    def _about_one(self) -> Self:
        if self.list_id is not None and self.page_id is not None:
            raise ValueError("listId and pageId: give one, or neither for all pages")
        return self


class ChangeChannel(Request):
    """`PATCH /api/watch/channels/{id}`. What is left out stays. `quiet: null` ends quiet hours."""

    name: Name | None = None
    target: Target | None = None
    kinds: Kinds | None = None
    quiet: Quiet | None = None
    enabled: StrictBool | None = None


class Channel(Answer):
    """A channel. `target` is its scheme and host alone. `lastProblem` is gone once a message went out.

    `waiting` messages have not gone out yet; `givenUp` ones never will: their receiver did not take them for a day.
    """

    channel_id: str
    name: str
    kind: ChannelKind
    target: str
    list_id: str | None = None
    page_id: str | None = None
    kinds: list[EventKind]
    quiet: Quiet | None = None
    enabled: bool
    organization: str
    created_at: Instant
    last_sent_at: Instant | None = None
    last_problem: str | None = None
    waiting: int
    given_up: int


class Channels(Answer):
    """Oldest first."""

    channels: list[Channel]


class ChannelMade(Answer):
    """A new channel, or a webhook's new secret, which this answer alone has."""

    channel: Channel
    secret: str | None = None


class NewSecret(Request):
    """`POST /api/watch/channels/{id}/secret`: messages are signed with the old secret too for so many hours."""

    old_for_hours: Annotated[StrictInt, Field(ge=0, le=168)] = 24


class Tried(Answer):
    """`POST /api/watch/channels/{id}/test`: whether a message that says it is a test was taken just now."""

    sent: bool
    problem: str | None = None


class Message(Answer):
    """A message of a channel, and what became of it. `events` are told in it."""

    message_id: str
    kind: EventKind
    state: Literal["waiting", "sent", "given-up"]
    created_at: Instant
    events: list[str]
    tries: int
    next_try_at: Instant | None = None
    sent_at: Instant | None = None
    problem: str | None = None


class Messages(Answer):
    """`GET /api/watch/channels/{id}/messages`: newest first. `next`: give it back as `before`."""

    messages: list[Message]
    next: str | None = None


class NewFeed(Request):
    """`POST /api/watch/feeds`: addresses where feed readers find a list's updates, or a page's, without a token."""

    list_id: ListId | None = None
    page_id: PageId | None = None

    @model_validator(mode="after")
    def _about_one(self) -> Self:
        if (self.list_id is None) == (self.page_id is None):
            raise ValueError("give listId or pageId, one of them")
        return self


class FeedLink(Answer):
    """A feed that somebody may read. Whoever has its addresses reads it, until it is removed."""

    feed_id: str
    list_id: str | None = None
    page_id: str | None = None
    organization: str
    created_at: Instant
    created_by: str
    last_read_at: Instant | None = None


class FeedMade(Answer):
    """A new feed with its addresses, which this answer alone has."""

    feed: FeedLink
    atom: str
    rss: str
    json_feed: str


class FeedLinks(Answer):
    """Oldest first."""

    feeds: list[FeedLink]


# --- what a webhook's body says


class ToldEvent(Answer):
    """An event in a message: as `GET /api/watch/pages/{id}/events/{eventId}` has it, its diff as text."""

    event_id: str
    page_id: str
    url: str
    title: str
    at: Instant
    removed_lines: int | None = None
    added_lines: int | None = None
    problem: str | None = None
    diff: str | None = None


class Told(Answer):
    """`data` of a message: `count` events in all, of which `events` are the first."""

    count: int
    events: list[ToldEvent]


class WebhookBody(Answer):
    """A webhook's body. `type`: `watch.changed`, `watch.failing`, `watch.recovered` or `watch.test`."""

    type: str
    timestamp: Instant
    channel: str
    data: Told
