"""How visits are made: limits of a fetch, and what canaries try out instead."""

from dataclasses import dataclass, replace

from comity.contract.watch_queue import VisitOverrides
from comity.polite.client import GetLimits
from comity.watch.rules.settings import DEFAULT_KEPT_BYTES


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

    def overridden(self, by: VisitOverrides | None) -> "VisitSettings":
        """With what a canary sets laid over."""
        return self if by is None else replace(self, **by.model_dump(exclude_none=True))
