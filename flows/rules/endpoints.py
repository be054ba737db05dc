"""Which endpoint is asked first, and what is said where none of them took the page."""

from collections.abc import Sequence
from dataclasses import dataclass


def order(count: int, *, host_place: int, page_number: int) -> tuple[int, ...]:
    """Places of all endpoints, begun one further with every page, and with every host."""
    start = (host_place + page_number) % count
    return tuple((start + step) % count for step in range(count))


def next_first(places: Sequence[int], *, after: int) -> tuple[int, ...]:
    """The same round, begun behind `after`."""
    here = list(places).index(after) + 1
    return (*places[here:], *places[:here])


def not_the_page(status: int) -> bool:
    """A refusal that says nothing of the page: our token is not taken, or no capture server is there."""
    return status in (401, 403, 404, 405, 503)


@dataclass(frozen=True, slots=True)
class Unreachable:
    """An endpoint that could not be spoken to, and what it (or TLS) said."""

    endpoint: str
    said: str


def all_unreachable(errors: Sequence[Unreachable]) -> str:
    """One line that quotes each endpoint's error."""
    quoted = "; ".join(f"{one.endpoint}: {one.said}" for one in errors)
    return f"no capture server can be reached: {quoted}"


def all_busy(busy_ms: int, endpoints: Sequence[str]) -> str:
    """Why a page is given up for which no endpoint came free."""
    return f"all {len(endpoints)} capture servers were busy for {busy_ms // 1000} s: {', '.join(endpoints)}"
