"""A ledger in which things happen to watched pages, of which it tells."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comity.contract.watch_found import Diff, DiffHunk
from ledger.rules.watch_diffs import packed
from ledger.rules.watch_pages import url_digest
from ledger.store.models_watch import WatchEvent, WatchList, WatchMember, WatchPage
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at

DIFF = Diff(
    hunks=[DiffHunk(before_line=1, after_line=1, removed=["old <b>"], added=["new"])], removed_lines=1, added_lines=1
)


@dataclass
class World:
    desk: Desk
    clock: ShiftedClock
    pages: list[int] = field(default_factory=list)

    def page(self, organization: str = "default") -> int:
        with self.desk.parts.store.writing() as tx:
            url = f"https://a.example/{organization}/{len(self.pages)}"
            row = WatchPage(
                organization=organization,
                url=url,
                url_digest=url_digest(organization, url),
                version=2,
                paused=False,
                added_at=self.clock(),
            )
            tx.add(row)
            tx.flush()
            self.pages.append(row.id)
            return row.id

    def in_list(self, *pages: int) -> str:
        ident = f"a{len(self.pages):016x}"
        with self.desk.parts.store.writing() as tx:
            tx.add(
                WatchList(
                    id=ident,
                    organization="default",
                    name="My <list>",
                    description="",
                    pages=len(pages),
                    created_at=self.clock(),
                )
            )
            tx.flush()
            for page in pages:
                tx.add(WatchMember(list_id=ident, page_id=page, updated_at=self.clock()))
        return ident

    def happens(self, page: int, kind: str = "changed") -> str:
        with self.desk.parts.store.writing() as tx:
            found = tx.get(WatchPage, page)
            assert found is not None
            event = WatchEvent(
                page_id=page,
                organization=found.organization,
                kind=kind,
                at=self.clock(),
                url=found.url,
                title=f"Page {page} & more",
                diff=packed(DIFF) if kind == "changed" else None,
                removed_lines=1 if kind == "changed" else None,
                added_lines=1 if kind == "changed" else None,
                problem=None if kind == "changed" else "HTTP 500",
            )
            tx.add(event)
            tx.flush()
            return f"e{event.id}"

    def channel(self, target: str, **more: Any) -> Json:
        self.clock.advance(0.01)
        order = {"name": "mine", "kind": "webhook", "target": target, **more}
        made = self.desk.post("/api/watch/channels", order, 201)
        self.clock.advance(0.01)
        return made

    def tell(self) -> None:
        """All looks that there is something to do for."""
        for _ in range(100):
            if not self.desk.parts.teller.one_look():
                return
        raise AssertionError("the teller does not come to an end")


@contextmanager
def world_at(folder: Path) -> Iterator[World]:
    """A ledger in this folder that may send to Apprise's `json:` too."""
    clock = ShiftedClock()
    with (
        FakePrefect() as prefect,
        ledger_at(folder / "data", folder / "store", prefect, clock=clock, apprise_services=("json",)) as desk,
    ):
        yield World(desk, clock)
