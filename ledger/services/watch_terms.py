"""What a deployment decides about watching."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from comity.contract.watch_queue import VisitOverrides
from ledger.rules.watch_due import Bounds

USUAL_BOUNDS = Bounds(timedelta(minutes=15), timedelta(days=30))


@dataclass(frozen=True)
class WatchTerms:
    """`visits_a_second`: so many begin, all workers together. `visits_a_day`: what revisits are divided from; None is
    one for each page; fixed intervals are visited on top. `canaries`: overrides of pages' settings by their name,
    `canary_visits` of the workers' own.

    `contents_kept` are those of each page, the one that it is compared with among them; history and evidence are kept
    for `history_days`.
    """

    host_delay_ms: int = 5_000
    visits_a_second: float = 100.0
    visits_a_day: float | None = None
    bounds: Bounds = USUAL_BOUNDS
    canaries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    canary_visits: Mapping[str, VisitOverrides] = field(default_factory=dict)
    new_pages_version: int = 2
    contents_kept: int = 2
    history_days: int = 90
