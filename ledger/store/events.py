"""Rows of crawl events. The rows that they tell of are written by the store too, so none is forgotten."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from comity.contract.events import CrawlEnded, EventKind, LevelClosed, LevelOpened, PageSettled
from ledger.store.models_events import CrawlEvent

Told = LevelOpened | PageSettled | LevelClosed | CrawlEnded
KINDS: dict[type[Told], EventKind] = {
    LevelOpened: "level-opened",
    PageSettled: "page",
    LevelClosed: "level-closed",
    CrawlEnded: "end",
}


def tell(tx: Session, crawl_id: str, told: Told) -> None:
    """Write the event with everything else of the transaction, in which the crawl's row has to be locked."""
    tx.add(CrawlEvent(crawl_id=crawl_id, kind=KINDS[type(told)], at=told.at, data=told.to_wire()))


def after(tx: Session, crawl_id: str, event_id: int, limit: int) -> Sequence[CrawlEvent]:
    """The crawl's next events, oldest first."""
    query = select(CrawlEvent).where(CrawlEvent.crawl_id == crawl_id, CrawlEvent.id > event_id)
    return tx.scalars(query.order_by(CrawlEvent.id).limit(limit)).all()
