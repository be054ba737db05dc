"""Wire models of what visits found: a page's visits, its changes with their diffs, and the text it is compared with."""

from typing import Annotated, Any, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from comity.contract.watch import EventKind, Outcome
from comity.contract.wire import Answer, Instant, Request

MAX_DIFF_LINES = 2_000
MAX_DIFF_LINE_CHARACTERS = 2_000


class VisitSeen(Answer):
    """One visit of a page. `eventId` names what it found out, where it did."""

    at: Instant
    outcome: Outcome
    http_status: int | None = None
    code: str | None = None
    problem: str | None = None
    worker: str
    took_ms: int
    late_ms: int
    event_id: str | None = None


class History(Answer):
    """`GET /api/watch/pages/{id}/history`: newest first. `next`: give it back as `before`."""

    visits: list[VisitSeen]
    next: str | None = None


DiffLine = Annotated[str, Field(max_length=MAX_DIFF_LINE_CHARACTERS)]


class DiffHunk(Request):
    """Lines that were replaced. `beforeLine` and `afterLine` count from 1: where they began on either side."""

    before_line: Annotated[StrictInt, Field(ge=1)]
    after_line: Annotated[StrictInt, Field(ge=1)]
    removed: Annotated[list[DiffLine], Field(max_length=MAX_DIFF_LINES)] = []
    added: Annotated[list[DiffLine], Field(max_length=MAX_DIFF_LINES)] = []


class Diff(Request):
    """What changed, by lines, from the moment of detection. At least one line of it is not blank.

    `removedLines` and `addedLines` count all that changed; `truncated` where `hunks` do not hold all of them.
    """

    hunks: Annotated[list[DiffHunk], Field(min_length=1, max_length=MAX_DIFF_LINES)]
    removed_lines: Annotated[StrictInt, Field(ge=0)]
    added_lines: Annotated[StrictInt, Field(ge=0)]
    truncated: StrictBool = False

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        lines = [line for hunk in self.hunks for line in (*hunk.removed, *hunk.added)]
        if len(lines) > MAX_DIFF_LINES:
            raise ValueError(f"has {len(lines)} lines; {MAX_DIFF_LINES} are kept, with truncated: true")
        if not any(line.strip() for line in lines):
            raise ValueError("is blank: a change of nothing but blanks is no change")
        return self


class PageEvent(Answer):
    """Something that is told about a page. `title` and `url` as they were when it happened."""

    event_id: str
    kind: EventKind
    page_id: str
    url: str
    title: str
    at: Instant
    before_sha256: str | None = None
    after_sha256: str | None = None
    removed_lines: int | None = None
    added_lines: int | None = None
    problem: str | None = None


class PageEvents(Answer):
    """`GET /api/watch/pages/{id}/events`: newest first. `next`: give it back as `before`."""

    events: list[PageEvent]
    next: str | None = None


class PageEventDetail(PageEvent):
    """`GET /api/watch/pages/{id}/events/{eventId}`: a change with its diff."""

    diff: Diff | None = None


class PageContent(Answer):
    """`GET /api/watch/pages/{id}/content`: the text that the page is compared with, and its fields where an extractor
    made them. 404 where there is none yet, or it is kept no longer."""

    page_id: str
    sha256: str
    text: str
    fields: dict[str, Any] | None = None
    seen_at: Instant
