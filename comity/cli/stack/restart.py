"""When a part that died is started again, and when the stack gives up. Pure: the caller brings the clock."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RestartPolicy:
    """Waits double from `first_delay_s` to `longest_delay_s`; `limit` deaths within `window_s` are too many."""

    first_delay_s: float = 0.5
    longest_delay_s: float = 10.0
    limit: int = 5
    window_s: float = 120.0


@dataclass(frozen=True)
class StartAgain:
    """The part is started again after `delay_s`."""

    delay_s: float


@dataclass(frozen=True)
class GiveUp:
    """The part died `deaths` times within `window_s`: what kills it is not an accident."""

    deaths: int
    window_s: float


BAD_SETTINGS = 2
"""The exit status of a part that its settings do not let start: another try ends the same."""


def cannot_start(status: int | None, *, was_ready: bool) -> bool:
    """Whether a part that ended so is not tried again. One that was ready has settings that let it start."""
    return status == BAD_SETTINGS and not was_ready


def after_death(deaths_at_s: Sequence[float], policy: RestartPolicy) -> StartAgain | GiveUp:
    """What follows the last of `deaths_at_s` (ascending seconds of one clock, the newest death included)."""
    if not deaths_at_s:
        raise ValueError("a decision about a death needs the death")
    recent = sum(1 for at_s in deaths_at_s if deaths_at_s[-1] - at_s < policy.window_s)
    if recent >= policy.limit:
        return GiveUp(recent, policy.window_s)
    return StartAgain(min(policy.longest_delay_s, policy.first_delay_s * 2 ** (recent - 1)))
