"""`POST /api/crawls/{id}/index`: take the text of captured pages out of their archives into the search index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from comity.archive.wacz_pages import NoPages, listed_pages
from comity.contract.ledger import IndexAnswer
from ledger import log
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.place import Away, NotRead
from ledger.clock import Clock
from ledger.errors import Unknown
from ledger.rules import adoption
from ledger.rules.html_text import title_and_text
from ledger.rules.words import normalised, terms
from ledger.store import archives, crawls, search
from ledger.store.database import Store
from ledger.store.models import Page

MAX_LIST_BYTES = 16 * 1024 * 1024
MAX_HTML_BYTES = 4 * 1024 * 1024
MAX_TITLE_CHARACTERS = 500
MAX_TEXT_CHARACTERS = 100_000
"""Some fifty printed pages: what search sees of one web page."""
MAX_TERM_BYTES = 500_000
"""Of distinct terms together: a PostgreSQL `tsvector` takes 1 MiB with its own bookkeeping."""
PAGES_PER_BATCH = 100
MAX_PROBLEM_CHARACTERS = 300


@dataclass(frozen=True)
class _Text:
    title: str
    text: str
    problem: str | None = None


class IndexService:
    """`since_s`: how old a page may be that is indexed without being asked for."""

    def __init__(self, store: Store, artifacts: Artifacts, clock: Clock, *, since_s: float) -> None:
        self._store = store
        self._artifacts = artifacts
        self._clock = clock
        self._since = timedelta(seconds=since_s)

    def index_crawl(self, crawl_id: str, *, in_time: Callable[[], bool]) -> IndexAnswer:
        """Index what the crawl captured so far; how many of its captured pages search can find now. Raises Unknown.

        What `in_time` leaves out is indexed by the next call, or by itself.
        """
        with self._store.reading() as tx:
            if crawls.get(tx, crawl_id) is None:
                raise Unknown("crawl", crawl_id)
        self._index(crawl_id, in_time)
        with self._store.reading() as tx:
            indexed, captured = archives.index_counts(tx, crawl_id)
        return IndexAnswer(indexed=indexed, pages=captured)

    def index_missed(self, organizations: Sequence[str] | None = None, *, in_time: Callable[[], bool]) -> int:
        """Index recent pages that nobody had indexed, of any crawl of these organisations (None: of all); how many."""
        return self._index(None, in_time, organizations)

    def _index(
        self, crawl_id: str | None, in_time: Callable[[], bool], organizations: Sequence[str] | None = None
    ) -> int:
        done = 0
        since = None if crawl_id is not None else self._clock() - self._since
        while in_time():
            with self._store.reading() as tx:
                batch = archives.not_indexed(
                    tx, crawl_id=crawl_id, organizations=organizations, since=since, limit=PAGES_PER_BATCH
                )
            for page in batch:
                if not in_time():
                    return done
                try:
                    text = self._text(page)
                except Away as error:
                    log.warning("not_indexed", crawl_id=page.crawl_id, page_id=page.id, why=str(error))
                    return done
                self._keep(page, text)
                done += 1
            if len(batch) < PAGES_PER_BATCH:
                return done
        return done

    def _text(self, page: Page) -> _Text:
        """What the page says: from its archive's page list, else from its HTML. Raises Away."""
        places = {
            kind: place for kind, place in (page.artifacts or {}).items() if adoption.carries(place, page.crawl_id)
        }
        problem = "captured without wacz and html"
        if "wacz" in places:
            try:
                with self._artifacts.open(places["wacz"]) as archive:
                    found = listed_pages(archive, max_bytes=MAX_LIST_BYTES)
            except Away:
                raise
            except (NotRead, NoPages) as error:
                problem = f"wacz: {error}"
            except OSError as error:
                raise Away(str(error)) from None
            else:
                first = next((one for one in found if one.url == page.url), found[0] if found else None)
                if first is not None and (first.text or first.title):
                    return _Text(first.title, first.text)
                problem = "its archive tells no text"
        if "html" in places:
            try:
                html = self._artifacts.read(places["html"], MAX_HTML_BYTES).decode("utf-8", "replace")
            except Away:
                raise
            except NotRead as error:
                problem = f"{problem}; html: {error}"
            else:
                return _Text(*title_and_text(html))
        return _Text("", "", problem)

    def _keep(self, page: Page, found: _Text) -> None:
        title = normalised(found.title[: MAX_TITLE_CHARACTERS * 4])[:MAX_TITLE_CHARACTERS]
        text = normalised(found.text[: MAX_TEXT_CHARACTERS * 2])[:MAX_TEXT_CHARACTERS]
        problem = found.problem[:MAX_PROBLEM_CHARACTERS] if found.problem else None
        with self._store.writing() as tx:
            if crawls.get(tx, page.crawl_id) is None:
                return  # pruned meanwhile
            search.keep(
                tx,
                page_id=page.id,
                title=title,
                body=text,
                terms=_bounded(title, text),
                problem=problem,
                at=self._clock(),
            )
        if problem is not None:
            log.warning("not_indexed", crawl_id=page.crawl_id, page_id=page.id, why=problem)


def _bounded(title: str, text: str) -> list[str]:
    """The terms of title and text; those that come when the index has its fill are left out."""
    kept: list[str] = []
    distinct: dict[str, None] = {}
    bytes_left = MAX_TERM_BYTES
    for part in (title, text):
        for one in terms(part):
            if one.term not in distinct:
                bytes_left -= len(one.term.encode("utf-8"))
                if bytes_left < 0:
                    return kept
                distinct[one.term] = None
            kept.append(one.term)
    return kept
