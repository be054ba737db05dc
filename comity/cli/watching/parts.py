"""Many pages to the ledger, a part at a time: what it refuses is named by its line, and the rest goes on."""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Line = tuple[int, Item]
"""A line's number in the file, 0 where nobody knows it, and what stands there."""
Problem = tuple[int, str]
MAX_NAMED = 1000
_FIELD = re.compile(r"pages\.([0-9]+)\.?(.*)")


def sent(part: Sequence[Line[Item]], send: Callable[[list[Item]], Answer], problems: list[Problem]) -> Answer | None:
    """The ledger's answer to all of `part` that it takes; None where that is nothing. Raises ServiceError.

    A call adds all or none, so the rest is sent again without what was refused.
    """
    from blocks.clients.errors import ServiceRefused

    left = list(part)
    while left:
        try:
            return send([item for _, item in left])
        except ServiceRefused as refusal:
            refused = _refused(refusal) if refusal.status == 400 else {}
            if not any(place < len(left) for place in refused):
                raise
            problems.extend((line, refused[place]) for place, (line, _) in enumerate(left) if place in refused)
            left = [one for place, one in enumerate(left) if place not in refused]
    return None


def wrong(error: "ValidationError") -> str:
    """What the first thing is that is wrong, with the field's name."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def say(file: str, problems: Iterable[Problem], unnamed: int = 0) -> None:
    """Each problem on a line of standard error, in the file's order; `unnamed` ones are a number."""
    ordered = sorted(problems)
    for line, reason in ordered[:MAX_NAMED]:
        print(f"{file}:{line}: {reason}" if line else f"{file}: {reason}", file=sys.stderr)
    more = unnamed + len(ordered[MAX_NAMED:])
    if more:
        print(f"{file}: and {more} more", file=sys.stderr)


def _refused(refusal: object) -> dict[int, str]:
    found: dict[int, str] = {}
    for one in getattr(refusal, "fields", ()):
        match = _FIELD.fullmatch(one.field)
        if match is not None:
            found.setdefault(int(match[1]), f"{match[2]}: {one.message}" if match[2] else one.message)
    return found
