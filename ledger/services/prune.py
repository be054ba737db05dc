"""Remove ended crawls with all that they left: files first, rows last, so that no file is ever forgotten."""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from ledger import log
from ledger.artifacts.place import Elsewhere, Found, Missing, NotRead, Place, Unreadable
from ledger.clock import Clock
from ledger.rules.adoption import SINK_FOLDER
from ledger.services.host_gate import CRAWL
from ledger.store import crawls, hosts, pages
from ledger.store.database import Store
from ledger.store.models import Crawl

TURN = "prune"
CRAWLS_AT_ONCE = 100
EVERY_S = 86_400
LATEST_FILE = timedelta(days=1)
"""A capture that its crawl no longer waited for may still have been written after the crawl's end."""


@dataclass(frozen=True)
class Pruned:
    """What was removed, or would be. `troubles` are crawls that stay because something of theirs could not go."""

    crawls: list[str] = field(default_factory=list)
    files: int = 0
    size_bytes: int = 0
    elsewhere: int = 0
    """Artifacts that were named and stay: they lie where this ledger removes nothing, or are another crawl's."""
    troubles: list[str] = field(default_factory=list)
    other_at_it: bool = False


class PruneService:
    """Removes crawls that ended long enough ago, and never one that runs."""

    def __init__(self, store: Store, places: Sequence[Place], clock: Clock) -> None:
        self._store = store
        self._places = tuple(places)
        self._clock = clock

    def prune(self, days: int, *, dry_run: bool = False) -> Pruned:
        """Remove what ended more than `days` ago. Again after a crash: what was begun is finished."""
        before = self._clock() - timedelta(days=days)
        total = Pruned()
        with self._store.exclusively(TURN) as alone:
            if not alone:
                return Pruned(other_at_it=True)
            after = ""
            while True:
                with self._store.reading() as tx:
                    found = crawls.ended_before(tx, before, CRAWLS_AT_ONCE, after=after)
                if not found:
                    return total
                for crawl_id in found:
                    total = self._remove(crawl_id, total, dry_run=dry_run)
                after = found[-1]

    async def run(self, days: int) -> None:
        """Prune now and every day, until cancelled."""
        while True:
            try:
                await asyncio.to_thread(self.prune, days)
            except Exception as error:
                log.failure("prune_failed", error)
            await asyncio.sleep(EVERY_S)

    def _remove(self, crawl_id: str, total: Pruned, *, dry_run: bool) -> Pruned:
        with self._store.reading() as tx:
            crawl = crawls.get(tx, crawl_id)
            if crawl is None or crawl.state == "running":
                return total
            named = list(pages.locations(tx, crawl_id))
        try:
            found = [self._of(place, crawl, named) for place in self._places]
            if not dry_run:
                for place, theirs in zip(self._places, found, strict=True):
                    place.remove(list(theirs))
        except NotRead as error:
            log.warning("crawl_not_pruned", crawl_id=crawl_id, why=str(error))
            return replace(total, troubles=[*total.troubles, f"{crawl_id}: {error}"])
        artifacts = {location: size for theirs in found for location, size in theirs.items()}
        size_bytes = sum(artifacts.values())
        if not dry_run:
            self._forget(crawl_id)
            log.event("crawl_pruned", crawl_id=crawl_id, files=len(artifacts), size_bytes=size_bytes)
        return replace(
            total,
            crawls=[*total.crawls, crawl_id],
            files=total.files + len(artifacts),
            size_bytes=total.size_bytes + size_bytes,
            elsewhere=total.elsewhere + sum(not self._may_go(crawl, location) for location in named),
        )

    def _forget(self, crawl_id: str) -> None:
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, crawl_id)
            if crawl is not None and crawl.state != "running":
                hosts.forget_leases(tx, CRAWL, f"{crawl_id}:")
                crawls.remove(tx, crawl)

    def _of(self, place: Place, crawl: Crawl, named: list[str]) -> dict[str, int]:
        """Every artifact of the crawl in this place with its size: what nobody reported too. Raises NotRead."""
        found = {one.location: one.size_bytes for one in _unreported(place, crawl)}
        for location in dict.fromkeys(named):
            if place.owns(location) and location not in found and self._may_go(crawl, location):
                with contextlib.suppress(Missing, Unreadable):
                    found[place.real(location)] = place.stat(location).size_bytes
        return found

    def _may_go(self, crawl: Crawl, location: str) -> bool:
        """Whether what was named lies, or lay, in one of our places and is the crawl's own.

        A manifest may claim any artifact: only those go that carry the crawl in their name.
        """
        for place in self._places:
            if place.owns(location):
                with contextlib.suppress(Elsewhere):
                    return _is_of(place.real(location).rpartition("/")[2], crawl)
        return False


def _is_of(name: str, crawl: Crawl) -> bool:
    """Capture servers put the crawl into every name."""
    return f"_{crawl.id}." in name


def _unreported(place: Place, crawl: Crawl) -> Iterator[Found]:
    """What lies where captures of the crawl were put, reported or not: tries before the last, captures given up.

    Capture servers have a folder for each day, the sink one for each crawl.
    """
    day = crawl.started_at.date()
    last = ((crawl.finished_at or crawl.started_at) + LATEST_FILE).date()
    folders = [f"{SINK_FOLDER}/{crawl.id}"]
    while day <= last:
        folders.append(f"{day:%Y}/{day:%m}/{day:%d}")
        day += timedelta(days=1)
    for folder in folders:
        yield from (one for one in place.listing(folder, "") if _is_of(one.name, crawl))
