"""What follows an attempt at a level that ended without closing it, and when the next one may begin."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from comity.contract.ledger import MAX_REASON_CHARACTERS, AttemptEnd

MAX_ATTEMPTS = 3
"""A run that dies once was unlucky; what kills three of them would kill the fourth."""

MAX_STOPS = 20
"""A run that its machine told to end says nothing about the level, so it counts as no attempt: a stack may be stopped
for the night. After so many they count too, or a machine that ends all its runs would go unnoticed."""

TRIED_AGAIN: frozenset[AttemptEnd] = frozenset({"crashed", "lost", "silent", "stopped", "unstored"})
"""Ends that say nothing about the crawl itself. A step that failed would fail again, and a person's word is final."""

CUT_OFF_S = 210
"""After so long unheard, a run that is alive and only cut off from the ledger visits nobody any more: it offers a
result for 60 s, then stops, and the last capture that it began until then ends within 145 s."""

OVER: frozenset[str] = frozenset({"COMPLETED", "FAILED", "CRASHED", "CANCELLED"})
"""Prefect's state types of runs whose process is gone, or is not begun any more."""


@dataclass(frozen=True)
class Ended:
    """How an attempt ended, and the reason in one line."""

    attempt: int
    how: AttemptEnd
    reason: str


@dataclass(frozen=True)
class NextAttempt:
    """The level is tried again, with the pages that are still pending."""

    attempt: int


@dataclass(frozen=True)
class CloseCrawl:
    """The crawl ends."""

    outcome: Literal["failed", "cancelled"]
    reason: str


def after_attempt(depth: int, ended: Sequence[Ended]) -> NextAttempt | CloseCrawl:
    """What follows, by every attempt at the level so far, the one that ended just now last."""
    last = ended[-1]
    if last.how == "cancelled":
        return CloseCrawl("cancelled", _cut(last.reason, MAX_REASON_CHARACTERS))
    if last.how not in TRIED_AGAIN:
        return CloseCrawl("failed", _cut(last.reason, MAX_REASON_CHARACTERS))
    stops = sum(one.how == "stopped" for one in ended)
    died = [one for one in ended if one.how not in ("stopped", "unstored")]
    if len(died) + max(0, stops - MAX_STOPS) < MAX_ATTEMPTS:
        return NextAttempt(last.attempt + 1)
    share = MAX_REASON_CHARACTERS // (MAX_ATTEMPTS + 1)
    said = [f"attempt {one.attempt} {one.how}: {_cut(one.reason, share)}" for one in died]
    if stops > MAX_STOPS:
        said.append(f"its runs were told to end {stops} times")
    return CloseCrawl("failed", f"level {depth} was tried {last.attempt} times: {'; '.join(said)}")


def visit_unstored_again(*, unstored: int, captured: bool, earlier: Iterable[AttemptEnd | None]) -> bool:
    """Whether a level whose pages all had their turn visits once more those whose captures could not be stored.

    The fault was ours, not the site's: a machine that was cut off, a disk that was full for a moment. Once a level, and
    only where something of it could be stored: a sink that takes nothing would take nothing the second time either, and
    the sites would have been visited for nothing again.
    """
    return unstored > 0 and captured and "unstored" not in earlier


def may_begin(earlier: Iterable[str | None], *, heard_at: datetime | None, now: datetime) -> bool:
    """Whether the next attempt may begin, by the Prefect states of the runs before it (None: unknown there).

    `heard_at` is when one of them was last heard; None: never, so that none has a page in hand, and none gets one now.
    A run whose worker is gone stays Cancelling for minutes; it is not waited for beyond what a visit can last.
    """
    at_work = any(state is not None and state not in OVER for state in earlier)
    return not at_work or heard_at is None or (now - heard_at).total_seconds() > CUT_OFF_S


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
