"""Archives, search, and what is made good about them later."""

from comity.contract.wire import Answer, Instant


class IndexAnswer(Answer):
    """Of the crawl's captured `pages`, how many search can find."""

    indexed: int
    pages: int


class ArchiveView(Answer):
    """A captured page's archive, and for whom it was made."""

    id: str
    crawl_id: str
    url: str
    final_url: str | None = None
    title: str | None = None
    captured_at: Instant
    task_id: str | None = None
    organization: str
    started_by: str


class ArchiveList(Answer):
    """Newest first. `next` is the cursor (`before`) of the archives that follow; none where these were the last."""

    archives: list[ArchiveView]
    next: str | None = None


class ArchiveUrl(Answer):
    """A URL that reads the archive without a token, for `expiresIn` seconds."""

    url: str
    expires_in: int


class TaskOrigin(Answer):
    """For whom a capture server did a task."""

    task_id: str
    crawl_id: str
    page_id: str
    url: str
    organization: str
    started_by: str


class SearchHit(Answer):
    """A page that was found. `snippet` is plain text, what was searched for between « and »."""

    archive_id: str
    crawl_id: str
    url: str
    title: str
    snippet: str
    captured_at: Instant | None = None


class SearchAnswer(Answer):
    """The most relevant hits, and how many there are that the caller may see."""

    hits: list[SearchHit]
    total: int


class CaughtUp(Answer):
    """What a reconciliation made good: pages whose late manifest came (`admitted`) or never will (`absent`), those that
    still wait, captures that nobody had reported (`adopted`), and pages that search can find now."""

    admitted: int
    absent: int
    waiting: int
    adopted: int
    indexed: int
