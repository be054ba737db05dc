"""Routes of archives and of search; and the one that signed URLs lead to, which asks for no token."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from comity.contract.ledger import ArchiveList, ArchiveUrl, CaughtUp, IndexAnswer, SearchAnswer, TaskOrigin
from ledger.api.file_answer import FileAnswer, preflight, refused_range
from ledger.api.parts_of import Caller, Ledger
from ledger.errors import Unknown
from ledger.rules.byte_range import Unsatisfiable, byte_range, still_the_same
from ledger.rules.query import MAX_QUERY_CHARACTERS
from ledger.services.archives import PATH
from ledger.services.catch_up import INDEX_BUDGET_S, budget

router = APIRouter()

Text = Annotated[str, Query(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.post("/api/crawls/{crawl_id}/index", status_code=202)
def index(ledger: Ledger, crawl_id: str) -> IndexAnswer:
    """Make the crawl's captured pages searchable."""
    return ledger.index.index_crawl(crawl_id, in_time=budget(INDEX_BUDGET_S))


@router.get("/api/search")
def search(ledger: Ledger, caller: Caller, q: Text, limit: Limit = 20) -> SearchAnswer:
    """Find captured pages: words, and phrases in double quotes."""
    return ledger.searches.search(q, limit=limit, organizations=caller.sees)


@router.get("/api/archives")
def newest(
    ledger: Ledger,
    caller: Caller,
    before: Annotated[str | None, Query(max_length=200)] = None,
    limit: Limit = 50,
) -> ArchiveList:
    """Archives, newest first."""
    return ledger.archives.newest(before=before, limit=limit, organizations=caller.sees)


@router.post("/api/archives/{archive_id}/url")
def url(ledger: Ledger, caller: Caller, request: Request, archive_id: str) -> ArchiveUrl:
    """A URL that reads the archive for five minutes."""
    return ledger.archives.url(archive_id, base_url=str(request.base_url), organizations=caller.sees)


@router.get("/api/tasks/{task_id}")
def origin(ledger: Ledger, caller: Caller, task_id: str) -> TaskOrigin:
    """For whom a capture server did a task."""
    return ledger.archives.origin(task_id, organizations=caller.sees)


@router.post("/api/reconcile")
def reconcile_all(ledger: Ledger, caller: Caller) -> CaughtUp:
    """Make good what was missed lately by crawls that the caller sees: late manifests, unreported captures, pages not
    indexed."""
    return ledger.catch_up.one_pass(organizations=caller.sees)


@router.post("/api/crawls/{crawl_id}/reconcile")
def reconcile(ledger: Ledger, caller: Caller, crawl_id: str) -> CaughtUp:
    """The same for one crawl, however old."""
    return ledger.catch_up.one_pass(crawl_id, caller.sees)


@router.get(f"{PATH}/{{archive_id}}", response_class=Response, responses={206: {}, 404: {}, 416: {}})
@router.head(f"{PATH}/{{archive_id}}", response_class=Response, include_in_schema=False)
def archive(
    ledger: Ledger,
    request: Request,
    archive_id: str,
    expires: Annotated[str, Query(max_length=20)] = "",
    signature: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """The archive, or a range of it, to whoever has a signed URL that is still good."""
    origins = ledger.settings.replay_origins
    found = ledger.archives.open_signed(archive_id, expires=expires, signature=signature)
    asked = request.headers.get("range") if request.method == "GET" else None
    tag, modified_at = found.stat.tag, found.stat.modified_at
    if not still_the_same(request.headers.get("if-range"), tag=tag, modified_at=modified_at):
        asked = None
    try:
        part = byte_range(asked, found.stat.size_bytes)
    except Unsatisfiable:
        found.file.close()
        return refused_range(found.stat.size_bytes, request.headers.get("origin"), origins)
    return FileAnswer(found, part, origin=request.headers.get("origin"), origins=origins)


@router.options(f"{PATH}/{{archive_id}}", response_class=Response, include_in_schema=False)
def archive_preflight(ledger: Ledger, request: Request, archive_id: str) -> Response:
    """What a player of another origin may ask for. It learns nothing about the archive."""
    origin = request.headers.get("origin")
    if origin not in ledger.settings.replay_origins:
        raise Unknown("archive", archive_id)
    return preflight(origin)
