"""`GET /api/search`: find captured pages by what they say."""

from collections.abc import Sequence

from comity.contract.ledger import SearchAnswer, SearchHit
from ledger.rules.query import parse
from ledger.rules.snippet import snippet
from ledger.store import search
from ledger.store.database import Store


class SearchService:
    """Searches. Rights are the caller's of now: they are applied to what is found, and never written into the index."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def search(self, text: str, *, limit: int, organizations: Sequence[str] | None = None) -> SearchAnswer:
        """The most relevant pages, and how many there are that the caller may see. Nothing typed is an error."""
        phrases = parse(text)
        if not phrases:
            return SearchAnswer(hits=[], total=0)
        with self._store.reading() as tx:
            found = search.search(tx, phrases, limit=limit, organizations=organizations)
            hits = [
                SearchHit(
                    archive_id=page.id,
                    crawl_id=page.crawl_id,
                    url=page.final_url or page.url,
                    title=row.title,
                    snippet=snippet(row.text, phrases),
                    captured_at=page.settled_at,
                )
                for row, page in found.rows
            ]
        return SearchAnswer(hits=hits, total=found.total)
