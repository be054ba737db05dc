"""Hours in which nobody wants to be told anything."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `begin` to `end` by the clock on the wall in `zone`, over midnight where `end` is earlier.

    Never, where both are the same.
    """

    begin: time
    end: time
    zone: ZoneInfo

    def until(self, now: datetime) -> datetime | None:
        """When the quiet ends that `now` falls into, or None. In UTC; days on which clocks are changed included."""
        here = now.astimezone(self.zone)
        at = here.time().replace(tzinfo=None)
        if self.begin == self.end:
            return None
        if self.begin < self.end:
            quiet, days = self.begin <= at < self.end, 0
        else:
            quiet, days = at >= self.begin or at < self.end, 1 if at >= self.begin else 0
        if not quiet:
            return None
        end = datetime.combine(here.date() + timedelta(days=days), self.end, self.zone)
        return max(end.astimezone(UTC), now.astimezone(UTC) + timedelta(seconds=1))
