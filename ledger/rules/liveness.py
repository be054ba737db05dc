"""Whether the flow run of a level still lives: the reconciler's verdicts.

Prefect's word is not enough: a run whose flow and worker were killed together stays Running there for ever. So the
ledger listens for itself: the work order and every report, empty ones included, are signs of life. And Prefect's
silence is no verdict: an orchestrator that is away says nothing about a flow that is at work. Where the two differ,
the ear wins: a run that is cut off from Prefect alone is called Crashed there while it visits pages, and another
attempt beside it would visit them twice. And a run that neither hears may be cut off from both: it is given the time
after which it visits nobody any more.

All times are by the ledger's own clock. `listening_since` is when this process began to listen, or woke from a sleep:
what was said before that could not be heard.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from comity.contract.ledger import NO_HEARTBEAT, TOLD_TO_END, AttemptEnd
from ledger.rules.resume import CUT_OFF_S

CALLER_DEADLINE_S = 145
MAX_HOST_DELAY_S = 600
BUSY_ROUND_S = 600
TURN_S = 1_800

STALL_LIMIT_S = 2 * (CALLER_DEADLINE_S + MAX_HOST_DELAY_S) + BUSY_ROUND_S + TURN_S
"""The longest that a healthy level finishes no page: every host is visited by others for 1,800 s, rests 600 s, captures
for 145 s, does the latter two once more, and finds every browser busy for 600 s. 2 x (145 + 600) + 600 + 1,800 =
3,890 s."""

HEARD_LATELY_S = 20
"""A run gives a sign of life every 10 s. One that missed two of them is as dead as whoever saw its process end says."""


@dataclass(frozen=True)
class Limits:
    """Deadlines in seconds. Each is a setting; see `ledger.settings`."""

    silence_s: float
    scheduled_s: float
    pending_s: float
    start_s: float
    cancelling_s: float
    ended_grace_s: float
    dispatch_s: float
    stall_s: float = STALL_LIMIT_S


@dataclass(frozen=True)
class LevelFacts:
    """The current level of a running crawl."""

    opened_at: datetime
    first_seen_at: datetime | None
    last_seen_at: datetime | None
    last_settled_at: datetime | None
    dispatch_trouble: str | None


@dataclass(frozen=True)
class RunSeen:
    """Prefect's word on the level's run: its state type, since when we have seen it, and its message."""

    type: str
    since: datetime
    message: str = ""


@dataclass(frozen=True)
class RunMissing:
    """Prefect answers, and knows no such run."""


@dataclass(frozen=True)
class PrefectSilent:
    """Prefect did not answer, or not with anything that tells the run's state."""

    detail: str


Seen = RunSeen | RunMissing | PrefectSilent


@dataclass(frozen=True)
class Verdict:
    """`wait`, `dispatch` (again), or `over`: the attempt has ended, `how` and why; `stop_run`: its run may not have."""

    kind: Literal["wait", "dispatch", "over"]
    how: AttemptEnd = "failed"
    reason: str = ""
    stop_run: bool = False


WAIT = Verdict("wait")
DISPATCH = Verdict("dispatch")

ENDED: Mapping[str, tuple[AttemptEnd, str]] = {
    "COMPLETED": ("lost", "the flow run completed in Prefect without closing the level"),
    "FAILED": ("failed", "the flow run failed in Prefect"),
    "CRASHED": ("crashed", "the flow run crashed in Prefect"),
    "CANCELLED": ("cancelled", "the flow run was cancelled in Prefect"),
}
"""How an attempt ended whose run is over in Prefect."""

DECIDED = frozenset({"FAILED", "CANCELLED"})
"""Only the flow itself or a person brings these about; the other two also come from Prefect's own book-keeping."""


def by_ear(level: LevelFacts, limits: Limits, *, now: datetime, listening_since: datetime) -> Verdict:
    """What the ledger knows without asking anyone: a run that was heard once and then fell silent, or does nothing."""
    if level.first_seen_at is None or level.last_seen_at is None:
        return WAIT
    if _over(now, level.last_seen_at, listening_since, limits.silence_s):
        return _ended("silent", f"no sign of life from the flow run for {limits.silence_s:.0f} s")
    if _over(now, level.last_settled_at or level.first_seen_at, listening_since, limits.stall_s):
        return _ended("silent", f"the flow run is alive but finished no page for {limits.stall_s:.0f} s")
    return WAIT


def before_dispatch(level: LevelFacts, limits: Limits, *, now: datetime, listening_since: datetime) -> Verdict:
    """A level without a run: dispatch it, for as long as that is worth trying."""
    if level.first_seen_at is not None:
        return WAIT  # somebody works on it, whoever started that run
    if _over(now, level.opened_at, listening_since, limits.dispatch_s):
        detail = level.dispatch_trouble or "no answer from Prefect"
        return Verdict(
            "over", "failed", f"the level could not be dispatched to Prefect for {limits.dispatch_s:.0f} s: {detail}"
        )
    return DISPATCH


def by_prefect(level: LevelFacts, seen: Seen, limits: Limits, *, now: datetime, listening_since: datetime) -> Verdict:
    """What Prefect's word means for a level whose run was dispatched and is not known to be silent."""
    if isinstance(seen, PrefectSilent):
        if level.first_seen_at is None and _over(now, level.opened_at, listening_since, limits.dispatch_s):
            return Verdict("over", "failed", f"Prefect did not answer for {limits.dispatch_s:.0f} s: {seen.detail}")
        return WAIT
    if isinstance(seen, RunMissing):
        return _missing(level, limits, now=now, listening_since=listening_since)
    if seen.type not in ENDED:
        return _not_ended(level, seen, limits, now=now, listening_since=listening_since)
    # Prefect's automation has seen no process end, it only hears nothing.
    within_s = CUT_OFF_S if seen.message.startswith(NO_HEARTBEAT) else HEARD_LATELY_S
    return _no_more(seen, limits, heard=_heard(level, within_s, now, listening_since), now=now)


def _missing(level: LevelFacts, limits: Limits, *, now: datetime, listening_since: datetime) -> Verdict:
    if level.first_seen_at is None:
        return before_dispatch(level, limits, now=now, listening_since=listening_since)
    if _heard(level, CUT_OFF_S, now, listening_since):
        return WAIT
    return _ended("lost", "Prefect knows the flow run no more, and it has fallen silent")


def _no_more(seen: RunSeen, limits: Limits, *, heard: bool, now: datetime) -> Verdict:
    if (now - seen.since).total_seconds() < limits.ended_grace_s:
        return WAIT  # the run's own report of its end says more than Prefect does, and may be on its way
    if heard and seen.type not in DECIDED:
        return WAIT
    how, reason = ENDED[seen.type]
    if how == "crashed" and seen.message.startswith(TOLD_TO_END):
        how = "stopped"
    return Verdict("over", how, reason + (f": {seen.message}" if seen.message else ""))


def _not_ended(
    level: LevelFacts, seen: RunSeen, limits: Limits, *, now: datetime, listening_since: datetime
) -> Verdict:
    # Without a worker, or while somebody has paused it, another run of the level would wait just the same.
    deadlines: Mapping[str, tuple[float, AttemptEnd, str]] = {
        "SCHEDULED": (limits.scheduled_s, "failed", "no worker took the flow run: is one running for its work pool?"),
        "PENDING": (limits.pending_s, "lost", "the flow run did not leave Pending: does its process start?"),
        "RUNNING": (limits.start_s, "lost", "the flow run never asked for its work order: can it reach the ledger?"),
        "PAUSED": (limits.start_s, "failed", "the flow run was paused in Prefect"),
        "CANCELLING": (limits.cancelling_s, "cancelled", "the flow run was being cancelled in Prefect, did not end"),
    }
    limit_s, how, why = deadlines.get(
        seen.type, (limits.start_s, "lost", "the flow run is in a state that the ledger does not know")
    )
    if level.first_seen_at is not None and seen.type != "CANCELLING":
        return WAIT  # heard from within the silence limit: what Prefect calls it does not matter
    if not _over(now, seen.since, listening_since, limit_s):
        return WAIT
    return _ended(how, f"{why} ({seen.type.capitalize()} for {limit_s:.0f} s)")


def _over(now: datetime, since: datetime, listening_since: datetime, limit_s: float) -> bool:
    return (now - max(since, listening_since)).total_seconds() > limit_s


def _heard(level: LevelFacts, within_s: float, now: datetime, listening_since: datetime) -> bool:
    """Whether the run was heard within that time, as far as we could listen."""
    return level.last_seen_at is not None and not _over(now, level.last_seen_at, listening_since, within_s)


def _ended(how: AttemptEnd, reason: str) -> Verdict:
    return Verdict("over", how, reason, stop_run=True)
