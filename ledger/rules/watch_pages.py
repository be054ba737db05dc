"""What pages may be watched, by which settings, and how they are named."""

import hashlib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from comity.contract.watch import WatchSettings
from comity.contract.watch_queue import VisitOverrides
from comity.watch.errors import BadWatchSettings
from comity.watch.rules.checking import check_watch_settings

ID_PREFIX = "w"
EVENT_PREFIX = "e"
DIGEST_BYTES = 16
_DEFAULTS = WatchSettings().to_wire()
_BOUNDS = ("minIntervalMs", "maxIntervalMs")
_FIXED = "fixedIntervalMs"
_VISIT = "visit"


def page_id(number: int) -> str:
    """A page's name on the wire."""
    return f"{ID_PREFIX}{number}"


def number_of(name: str, prefix: str = ID_PREFIX) -> int | None:
    """The number in a name, None where it is none of ours."""
    digits = name.removeprefix(prefix)
    if name == digits or not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        return None
    return int(digits)


def url_digest(organization: str, url: str) -> bytes:
    """What makes one page of an organisation's URL: 128 bits, so that two never share it (2 × 10⁻²⁵ at 10 million)."""
    return hashlib.sha256(f"{organization}\n{url}".encode()).digest()[:DIGEST_BYTES]


def page_overrides(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What a canary lays over the settings of its pages."""
    return {name: value for name, value in overrides.items() if name != _VISIT}


def visit_overrides(overrides: Mapping[str, Any]) -> VisitOverrides | None:
    """What it lays over the settings of the workers that visit them. Raises ValidationError."""
    return VisitOverrides.model_validate(overrides[_VISIT]) if _VISIT in overrides else None


def why_not_these_overrides(canary: str, overrides: Mapping[str, Any]) -> str | None:
    """Why a canary of this name cannot have these overrides; None where it can."""
    place = _VISIT
    try:
        visit_overrides(overrides)
        place = ""
        chosen = WatchSettings.model_validate({"canary": canary, **page_overrides(overrides)})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in (place, *first["loc"]) if part != "")
        return f"{where}: {first['msg']}" if where else str(first["msg"])
    if chosen.canary != canary:
        return "canary: a canary does not choose another one"
    try:
        check_watch_settings(chosen)
    except BadWatchSettings as error:
        return str(error)
    return None


def kept_settings(settings: WatchSettings) -> dict[str, Any] | None:
    """What is stored of settings: what differs from the defaults. None where nothing does."""
    return {name: value for name, value in settings.to_wire().items() if _DEFAULTS.get(name) != value} or None


def settings_of(
    kept: Mapping[str, Any] | None, canaries: Mapping[str, Mapping[str, Any]] | None = None
) -> WatchSettings:
    """The settings that were stored; with `canaries`, the overrides that they choose laid over them."""
    if kept is None:
        return WatchSettings()
    over = (canaries or {}).get(kept.get("canary") or "", {})
    return WatchSettings.model_validate(_laid_over(kept, over))


def _laid_over(kept: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A fixed interval of the one ends the bounds of the other, and the other way round."""
    under = dict(kept)
    if over.get(_FIXED) is not None:
        under = {name: value for name, value in under.items() if name not in _BOUNDS}
    elif any(over.get(name) is not None for name in _BOUNDS):
        under = {name: value for name, value in under.items() if name not in (*_BOUNDS, _FIXED)}
    return {**under, **over}
