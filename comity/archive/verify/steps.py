"""What a check says: one step with its outcome and reason."""

from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["ok", "failed", "skipped"]
MOST_DETAILS = 10


@dataclass(frozen=True, slots=True)
class Step:
    """`reason` is one line; `details` name what failed, the first ten and how many more."""

    name: str
    outcome: Outcome
    reason: str
    details: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        told: dict[str, Any] = {"step": self.name, "outcome": self.outcome, "reason": self.reason}
        return told | ({"details": list(self.details)} if self.details else {})


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ok` where nothing failed. What was skipped was not vouched for either way."""

    steps: tuple[Step, ...]

    @property
    def ok(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.outcome == "failed")


def ok(name: str, reason: str) -> Step:
    return Step(name, "ok", reason)


def skipped(name: str, reason: str) -> Step:
    return Step(name, "skipped", reason)


def failed(name: str, reason: str, problems: list[str] | None = None) -> Step:
    """A failed step; of many problems the first are named and the others counted."""
    named = tuple((problems or [])[:MOST_DETAILS])
    more = len(problems or []) - len(named)
    return Step(name, "failed", reason, (*named, f"and {more} more") if more > 0 else named)


def judged(name: str, good: str, problems: list[str]) -> Step:
    """Ok with `good`, or failed with the problems: a single one becomes the reason."""
    if not problems:
        return ok(name, good)
    if len(problems) == 1:
        return failed(name, problems[0])
    return failed(name, f"{len(problems)} problems", problems)
