"""`GET /api/archives` and what follows: list archives, hand out short-lived URLs, open what such a URL names."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from comity.contract.ledger import ArchiveList, ArchiveUrl, ArchiveView, TaskOrigin
from comity.contract.wire import rfc3339
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.place import NotRead, Stat
from ledger.clock import Clock
from ledger.errors import BadInput, Unknown, WrongState
from ledger.rules import adoption, signed_url
from ledger.store import archives
from ledger.store.database import Store
from ledger.store.models import Crawl, Page

PATH = "/archives"
"""Where signed URLs lead: outside `/api`, for the signature is all that is asked for."""


@dataclass(frozen=True)
class OpenArchive:
    """An archive's file, open. Whoever gets it closes it."""

    name: str
    stat: Stat
    file: BinaryIO = field(repr=False)


class ArchiveService:
    """`url_key` signs URLs of local files; an object store signs its own."""

    def __init__(self, store: Store, artifacts: Artifacts, clock: Clock, *, url_key: bytes) -> None:
        self._store = store
        self._artifacts = artifacts
        self._clock = clock
        self._url_key = url_key

    def newest(self, *, before: str | None, limit: int, organizations: Sequence[str] | None = None) -> ArchiveList:
        """Archives, newest first; `before` is the cursor that the page before this one gave. Raises BadInput."""
        cursor = _cursor(before) if before is not None else None
        with self._store.reading() as tx:
            rows = archives.newest(tx, before=cursor, limit=limit + 1, organizations=organizations)
        views = [_view(page, crawl, title) for page, crawl, title in rows[:limit]]
        last: Page | None = rows[limit - 1][0] if len(rows) > limit else None
        return ArchiveList(archives=views, next=_cursor_of(last) if last is not None else None)

    def url(self, archive_id: str, *, base_url: str, organizations: Sequence[str] | None = None) -> ArchiveUrl:
        """A URL that reads the archive for five minutes. Raises Unknown; WrongState where the archive is gone."""
        location = self._location(archive_id, organizations)
        try:
            self._artifacts.stat(location)
            url = self._artifacts.signed_url(location, seconds=signed_url.SECONDS)
        except NotRead as error:
            raise WrongState(f"the archive cannot be read: {error}") from None
        if url is None:
            expires_s = int(self._clock().timestamp()) + signed_url.SECONDS
            signature = signed_url.signature(self._url_key, archive_id, expires_s)
            url = f"{base_url.rstrip('/')}{PATH}/{archive_id}?expires={expires_s}&signature={signature}"
        return ArchiveUrl(url=url, expires_in=signed_url.SECONDS)

    def open_signed(self, archive_id: str, *, expires: str, signature: str) -> OpenArchive:
        """The archive that a signed URL names. Raises Unknown, the same for wrong, expired, and gone."""
        nothing = Unknown("archive", archive_id)
        now_s = self._clock().timestamp()
        if not signed_url.holds(self._url_key, archive_id, expires, signature, now_s=now_s):
            raise nothing
        location = self._location(archive_id, None)
        try:
            stat = self._artifacts.stat(location)
            return OpenArchive(file_name(location), stat, self._artifacts.open(location))
        except NotRead:
            raise nothing from None

    def origin(self, task_id: str, *, organizations: Sequence[str] | None = None) -> TaskOrigin:
        """For whom a capture server did a task. Raises Unknown."""
        with self._store.reading() as tx:
            found = archives.of_task(tx, task_id, organizations=organizations)
        if found is None:
            raise Unknown("task", task_id)
        _, page, crawl = found
        return TaskOrigin(
            task_id=task_id,
            crawl_id=crawl.id,
            page_id=page.id,
            url=page.url,
            organization=crawl.organization,
            started_by=crawl.started_by,
        )

    def _location(self, archive_id: str, organizations: Sequence[str] | None) -> str:
        with self._store.reading() as tx:
            page = archives.get(tx, archive_id, organizations=organizations)
        if page is None:
            raise Unknown("archive", archive_id)
        assert page.artifacts is not None
        location = str(page.artifacts["wacz"])
        if not adoption.carries(location, page.crawl_id):
            raise Unknown("archive", archive_id)  # what it names as its own belongs to somebody else
        return location


def _view(page: Page, crawl: Crawl, title: str | None) -> ArchiveView:
    assert page.settled_at is not None
    return ArchiveView(
        id=page.id,
        crawl_id=crawl.id,
        url=page.url,
        final_url=page.final_url,
        title=title or None,
        captured_at=page.settled_at,
        task_id=page.task_id,
        organization=crawl.organization,
        started_by=crawl.started_by,
    )


def _cursor_of(page: Page) -> str:
    assert page.settled_at is not None
    at = page.settled_at.isoformat()
    return base64.urlsafe_b64encode(f"{at} {page.id}".encode()).rstrip(b"=").decode()


def _cursor(text: str) -> tuple[datetime, str]:
    try:
        at, page_id = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii").split(" ")
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None or not re.fullmatch(r"[0-9a-z]{1,32}", page_id):
            raise ValueError("no cursor of ours")
        rfc3339(moment)
    except (ValueError, OverflowError, binascii.Error):
        raise BadInput.at("before", "is no cursor of this list; give the `next` of the page before") from None
    return moment, page_id


def file_name(location: str) -> str:
    """The last part of a location, in characters that every header and every file system takes."""
    name = location.rpartition("/")[2]
    return re.sub(r"[^0-9A-Za-z._-]+", "-", name)[-150:].lstrip(".-") or "archive.wacz"
