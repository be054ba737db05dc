"""How visits are made: limits of a fetch, and what canaries try out instead."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from comity.contract.watch import MAX_CONTENT_BYTES
from comity.polite.client import GetLimits
from comity.watch.errors import BadWatchSettings
from comity.watch.rules.settings import DEFAULT_KEPT_BYTES

MAX_BODY_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class VisitSettings:
    """Of one visit. A canary may override each of them."""

    connect_ms: int = 5_000
    first_byte_ms: int = 15_000
    total_ms: int = 30_000
    max_body_bytes: int = 4 * 2**20
    """A longer body is cut there and read as far as it goes."""
    max_redirects: int = 5
    kept_bytes: int = DEFAULT_KEPT_BYTES
    """Of a page's text."""
    learn_fetches: bool = True
    """Whether a new page, and one that seems to have changed, is fetched a second time, to learn what of it never means
    an update."""
    learn_after_ms: int = 2_000
    """How long after the first fetch at the soonest; never before the host's gap is over."""
    conditional: bool = True
    """Whether the site is asked for news only (If-None-Match, If-Modified-Since)."""
    max_wait_ms: int = 60_000
    """A host that wants more rest between two requests gets one request for each job."""

    @property
    def limits(self) -> GetLimits:
        """For the guarded client."""
        return GetLimits(
            connect_ms=self.connect_ms,
            first_byte_ms=self.first_byte_ms,
            total_ms=self.total_ms,
            max_raw_bytes=self.max_body_bytes,
            max_decoded_bytes=self.max_body_bytes,
            max_redirects=self.max_redirects,
            truncate=True,
        )


_BOUNDS: Mapping[str, tuple[int, int]] = {
    "connect_ms": (100, 60_000),
    "first_byte_ms": (100, 120_000),
    "total_ms": (100, 300_000),
    "max_body_bytes": (1_000, MAX_BODY_BYTES),
    "max_redirects": (0, 20),
    "kept_bytes": (1_000, MAX_CONTENT_BYTES),
    "learn_after_ms": (0, 600_000),
    "max_wait_ms": (0, 600_000),
}


@dataclass(frozen=True, slots=True)
class Canaries:
    """What pages with a canary flag are visited with instead, by name of the canary."""

    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def settings(self, canary: str | None, otherwise: VisitSettings) -> VisitSettings:
        """Those of the canary laid over the worker's own; a canary that nobody defined changes nothing."""
        found = self.overrides.get(canary or "")
        return replace(otherwise, **found) if found else otherwise


def canaries_of(text: str, setting: str) -> Canaries:
    """A JSON object: `{"http-slow": {"first_byte_ms": 60000}}`. Raises BadWatchSettings naming the entry."""
    if not text.strip():
        return Canaries()
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadWatchSettings(setting, f"is no JSON ({error})") from None
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise BadWatchSettings(setting, "must be a JSON object of objects, one for each canary")
    for name, overrides in found.items():
        check_visit_settings(VisitSettings(), overrides, f"{setting}.{name}")
    return Canaries(found)


def check_visit_settings(base: VisitSettings, overrides: Mapping[str, Any], where: str) -> VisitSettings:
    """`base` with the overrides. Raises BadWatchSettings for an unknown name or a value out of its bounds."""
    known = {one.name for one in fields(VisitSettings)}
    for name, value in overrides.items():
        place = f"{where}.{name}"
        if name not in known:
            raise BadWatchSettings(place, f"is unknown; there are {', '.join(sorted(known))}")
        if name in _BOUNDS:
            least, most = _BOUNDS[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise BadWatchSettings(place, f"must be a whole number, {least} to {most}")
        elif not isinstance(value, bool):
            raise BadWatchSettings(place, "must be true or false")
    return replace(base, **overrides)
