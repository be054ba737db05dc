"""Wire models of the queue of watched pages: what a worker claims, and what it says came of it.

A job is one page, and with it its host: nobody else visits that host, a crawl neither, until the job is completed or
returned, or its time is over. A fetch may begin only while the job's time outlasts the fetch's own budget; a worker
that needs longer renews first, and drops what was not renewed.
"""

import hashlib
import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from comity.contract.hosts import MAX_REST_MS, DelayMs
from comity.contract.watch import MAX_CONTENT_BYTES, MAX_FIELDS_BYTES, MAX_VOLATILE_LINES, Sha256, Title, WatchSettings
from comity.contract.watch_found import Diff
from comity.contract.wire import Answer, Instant, Request

MAX_JOBS = 500
"""In one call. Contents count by their bytes too: a client cuts a report that would be over the ledger's limit."""
MIN_LEASE_MS = 10_000
MAX_LEASE_MS = 1_800_000
MAX_WAIT_MS = 60_000
"""A host that rests for longer is not handed out."""
MAX_VISITS_OF_A_JOB = 50
MAX_BODY_BYTES = 32 * 2**20
"""Of an answer that a worker reads."""

Token = Annotated[str, Field(min_length=1, max_length=32)]
Worker = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$")]
"""One process, and no other one ever: visits of one worker are compared on its own clock."""
Short = Annotated[str, Field(max_length=1000)]


class ClaimJobs(Request):
    """`POST /api/watch/queue/claim`. `dryRun`: pages of version 1 for a rehearsal, which only sleeps: no host is held
    back for it, and nothing of the page changes but when it is due.
    """

    worker: Worker
    max: Annotated[StrictInt, Field(ge=1, le=MAX_JOBS)]
    lease_ms: Annotated[StrictInt, Field(ge=MIN_LEASE_MS, le=MAX_LEASE_MS)] = 120_000
    dry_run: StrictBool = False


class VisitOverrides(Request):
    """What a canary's pages are visited with instead of the worker's own settings; what is left out is the worker's.

    Times are of one fetch. `learnFetches`: whether a page is fetched a second time to learn what of it never means an
    update, `learnAfterMs` later at the soonest. `conditional`: whether the site is asked for news only. `maxWaitMs`: a
    host that wants more rest between two requests gets one request for each job.
    """

    connect_ms: Annotated[StrictInt, Field(ge=100, le=60_000)] | None = None
    first_byte_ms: Annotated[StrictInt, Field(ge=100, le=120_000)] | None = None
    total_ms: Annotated[StrictInt, Field(ge=100, le=300_000)] | None = None
    max_body_bytes: Annotated[StrictInt, Field(ge=1_000, le=MAX_BODY_BYTES)] | None = None
    max_redirects: Annotated[StrictInt, Field(ge=0, le=20)] | None = None
    kept_bytes: Annotated[StrictInt, Field(ge=1_000, le=MAX_CONTENT_BYTES)] | None = None
    learn_fetches: StrictBool | None = None
    learn_after_ms: Annotated[StrictInt, Field(ge=0, le=600_000)] | None = None
    conditional: StrictBool | None = None
    max_wait_ms: Annotated[StrictInt, Field(ge=0, le=600_000)] | None = None


class JobState(Answer):
    """What is known of the page, to ask and to compare with.

    `etag` and `lastModified` as the site wrote them. `contentSha256` is absent before the first content: the text
    itself is `GET /api/watch/pages/{id}/content`. `volatileLines` are what the worker wrote there last. `visits` are
    those that came to something. `failures` are those in a row.
    """

    etag: str | None = None
    last_modified: str | None = None
    content_sha256: str | None = None
    content_location: str | None = None
    volatile_lines: list[str] = []
    final_url: str | None = None
    last_visit_at: Instant | None = None
    last_change_at: Instant | None = None
    visits: int = 0
    failures: int = 0


class Job(Answer):
    """A page to visit once, `waitMs` after this answer at the soonest. `token` proves the claim, and is a lease of the
    host gate: it ends `expiresInMs` after the answer unless it is renewed.

    `gapMs` is the gap that the wait keeps, and is kept between requests of the same job too. `crawlDelayMs` is what the
    host's robots.txt asked for last, where that is known. A redirect within the host belongs to the visit that it
    came from. `lateMs` is how long the page has been due. `settings` have
    the canary's overrides in them already; `visit` are those of the worker's own settings.
    """

    token: str
    page_id: str
    organization: str
    url: str
    host: str
    wait_ms: int
    gap_ms: int
    expires_in_ms: int
    late_ms: int
    crawl_delay_ms: int | None = None
    settings: WatchSettings
    visit: VisitOverrides | None = None
    state: JobState
    dry_run: bool = False


class JobsClaimed(Answer):
    """`askAgainMs`: when the next claim is worth it, with `jobs` that may be fewer than were asked for.

    Whatever is claimed, no more visits begin than the deployment allows a second.
    """

    jobs: list[Job]
    ask_again_ms: int


class RenewJobs(Request):
    """`POST /api/watch/queue/renew`."""

    tokens: Annotated[list[Token], Field(min_length=1, max_length=MAX_JOBS)]
    lease_ms: Annotated[StrictInt, Field(ge=MIN_LEASE_MS, le=MAX_LEASE_MS)] = 120_000


class JobRenewed(Answer):
    """`expiresInMs` is absent where the job is lost: drop it, and report nothing but visits that were made."""

    token: str
    expires_in_ms: int | None = None


class JobsRenewed(Answer):
    """In the order of the request."""

    jobs: list[JobRenewed]


class ReturnJobs(Request):
    """`POST /api/watch/queue/return`: jobs whose sites were not asked for anything. They are due as they were."""

    tokens: Annotated[list[Token], Field(min_length=1, max_length=MAX_JOBS)]


class JobReturned(Answer):
    token: str
    accepted: bool


class JobsReturned(Answer):
    """In the order of the request. A repeat is not accepted a second time, and does no harm."""

    jobs: list[JobReturned]


# --- what came of a job


class SiteVisit(Request):
    """A request that a site saw, or may have seen: the evidence that gaps are measured from.

    Times are by the worker's clock, `waitedMs` is how long after the claim's answer (or the lease's) the request began.
    `leaseId`: the lease that a visit to another host was made under, robots.txt and redirects among them; left out for
    the job's own. `outcome` is a few words: `200`, `304`, `timeout`, `connection refused`.
    """

    url: Annotated[str, Field(min_length=1, max_length=2048)]
    submitted_at: Instant
    finished_at: Instant
    waited_ms: Annotated[StrictInt, Field(ge=0)]
    lease_id: Token | None = None
    outcome: Annotated[str, Field(min_length=1, max_length=200)]


class Content(Request):
    """The text that the next visit is compared with: UTF-8, cut at its end. `sha256` is of these bytes.

    `fields`: what an extractor made of the page, where one is watched.
    """

    text: str
    sha256: Sha256
    fields: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        try:
            encoded = self.text.encode()
        except UnicodeEncodeError:
            raise ValueError("the text has half of a surrogate pair, which is no Unicode") from None
        if len(encoded) > MAX_CONTENT_BYTES:
            raise ValueError(f"the text is over {MAX_CONTENT_BYTES} bytes; cut it at its end")
        if hashlib.sha256(encoded).hexdigest() != self.sha256:
            raise ValueError("sha256 is not the hash of the text's UTF-8 bytes")
        if self.fields is not None and len(json.dumps(self.fields)) > MAX_FIELDS_BYTES:
            raise ValueError(f"the fields are over {MAX_FIELDS_BYTES} bytes as JSON; watch fewer of them")
        return self


class _Done(Request):
    """What every report has. `retryAfterMs` is the rest that the host asked for, and everybody gives it. `crawlDelayMs`
    is what its robots.txt asks for: 0 for none, left out where it was not asked."""

    token: Token
    visits: Annotated[list[SiteVisit], Field(max_length=MAX_VISITS_OF_A_JOB)] = []
    http_status: Annotated[StrictInt, Field(ge=0, le=999)] | None = None
    retry_after_ms: Annotated[StrictInt, Field(ge=0, le=MAX_REST_MS)] | None = None
    crawl_delay_ms: DelayMs | None = None


class _Read(_Done):
    """What a site that answered said. `volatileLines` replace what the worker wrote last; left out, it stays."""

    etag: Short | None = None
    last_modified: Short | None = None
    final_url: Annotated[str, Field(max_length=2048)] | None = None
    title: Title | None = None
    volatile_lines: Annotated[list[Short], Field(max_length=MAX_VOLATILE_LINES)] | None = None


class FirstContent(_Read):
    """There was nothing to compare with."""

    outcome: Literal["first"]
    content: Content


class NotModified(_Done):
    """304. `etag` and `lastModified` stay as they were."""

    outcome: Literal["not-modified"]


class Unchanged(_Read):
    """A whole answer, and nothing in it that counts. `content`: what to compare with from now on, where that differs:
    lines that do not count may have changed."""

    outcome: Literal["unchanged"]
    content: Content | None = None


class Changed(_Read):
    """A change that is told. `beforeSha256` is the content that `diff` begins from."""

    outcome: Literal["changed"]
    before_sha256: Sha256
    content: Content
    diff: Diff


class Failed(_Done):
    """Nothing to compare: `code` for programs (E_TIMEOUT, E_URL_POLICY, E_HTTP_STATUS …), `reason` for people."""

    outcome: Literal["failed"]
    code: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
    reason: Annotated[str, Field(min_length=1, max_length=2000)]


class Skipped(_Done):
    """The page was not asked for: robots.txt forbids it, or its host asks for more rest than a visit may wait."""

    outcome: Literal["skipped"]
    reason: Annotated[str, Field(min_length=1, max_length=2000)]


class Rehearsed(Request):
    """A rehearsal's job: slept, and nothing else."""

    token: Token
    outcome: Literal["rehearsed"]


JobDone = Annotated[
    FirstContent | NotModified | Unchanged | Changed | Failed | Skipped | Rehearsed, Field(discriminator="outcome")
]


class CompleteJobs(Request):
    """`POST /api/watch/queue/complete`. Each report stands for itself: one that comes too late changes nothing but
    evidence, and the others count. A repeat gets the same answer."""

    worker: Worker
    jobs: Annotated[list[JobDone], Field(min_length=1, max_length=MAX_JOBS)]


class JobCompleted(Answer):
    """`accepted` is false where the job was no longer the worker's (`why`: `stale`), or its page is gone (`gone`).

    `outcome` is what counts: a first or changed content that does not begin from the page's own is `unchanged` or
    `first` after all. `dueAt` is the page's next time, absent where it has none; `eventId` what is told.
    """

    token: str
    accepted: bool
    why: Literal["stale", "gone"] | None = None
    outcome: str | None = None
    due_at: Instant | None = None
    event_id: str | None = None


class JobsCompleted(Answer):
    """In the order of the request."""

    jobs: list[JobCompleted]
