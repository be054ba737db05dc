"""One level: the work order, what comes back of it, and how it is closed."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictInt, model_validator

from comity.contract.capture import ArtifactSink, CaptureFormats, ErrorType, PageSettings
from comity.contract.ledger.pages import Try
from comity.contract.ledger.states import MAX_REASON_CHARACTERS, RunOutcome, StopReason
from comity.contract.scripts import Compiled, PinnedScript
from comity.contract.wire import Answer, Request

MAX_SITEMAP_URLS = 2000
"""In one part. With the longest URLs that a sitemap may name (2,048 bytes) a part fits into one call."""
MAX_SITEMAP_URL_CHARACTERS = 2048


class FrontierPage(Answer):
    """A page still pending. `hostIdleMs`: since its host was last touched by anyone, by the ledger's clock."""

    page_id: str
    url: str
    host: str
    host_idle_ms: int | None


class WorkOrderCapture(PageSettings):
    """What every capture of the level asks for: formats, signing, and the page settings that were chosen."""

    model_config = ConfigDict(extra="ignore")

    formats: CaptureFormats
    signing: bool


class WorkOrder(Answer):
    """All that a level needs. Every field is required: a forgotten one is an error, not another kind of crawl."""

    crawl_id: str
    depth: int
    attempt: int
    frontier: list[FrontierPage]
    per_host_delay_ms: int
    host_parallelism: int
    respect_robots: bool
    sitemaps: bool
    max_host_delay_ms: int
    capture: WorkOrderCapture
    scripts: list[PinnedScript]
    artifact_sink: ArtifactSink | None


class PageResult(Request):
    """What came of one page. A `taskId` demands exactly one manifest outcome, and neither comes without it."""

    page_id: Annotated[str, Field(min_length=1, max_length=64)]
    url: str
    status: Literal["captured", "failed", "skipped"]
    skip_reason: Annotated[str, Field(max_length=MAX_REASON_CHARACTERS)] | None = None
    reason: Annotated[str, Field(max_length=MAX_REASON_CHARACTERS)] | None = None
    task_id: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    links_location: Annotated[str, Field(max_length=4096)] | None = None
    manifest_location: Annotated[str, Field(max_length=4096)] | None = None
    manifest_error: Annotated[str, Field(max_length=4096)] | None = None
    http_status: Annotated[StrictInt, Field(ge=0, le=999)] | None = None
    failure: ErrorType | Literal["lost"] | None = None
    """Of a failed one, the kind of failure that the capture server told; `lost`: the connection to it ended."""
    tries: Annotated[list[Try], Field(max_length=10_000)] = []

    @model_validator(mode="after")
    def _manifest_with_task(self) -> Self:
        given = (self.manifest_location is not None) + (self.manifest_error is not None)
        if self.task_id is not None and given != 1:
            raise ValueError("a taskId needs exactly one of manifestLocation, manifestError")
        if self.task_id is None and given:
            raise ValueError("manifestLocation and manifestError come only with a taskId")
        if self.status == "captured" and self.task_id is None:
            raise ValueError("captured needs its taskId")
        if self.status == "skipped" and not self.skip_reason:
            raise ValueError("skipped needs its skipReason")
        return self


class Fence(Request):
    """Which run speaks. A stale one is kept as evidence and changes nothing."""

    depth: Annotated[StrictInt, Field(ge=0, le=1000)]
    attempt: Annotated[StrictInt, Field(ge=1, le=1_000_000)]
    run_id: Annotated[str, Field(min_length=1, max_length=64)]


class SitemapRead(Request):
    """A part of a sitemap that the level read; `outcome` is `read`, or why it is not all."""

    url: Annotated[str, Field(min_length=1, max_length=MAX_SITEMAP_URL_CHARACTERS)]
    part: Annotated[StrictInt, Field(ge=0, le=1000)]
    outcome: Annotated[str, Field(min_length=1, max_length=500)]
    urls: Annotated[list[str], Field(max_length=MAX_SITEMAP_URLS)]


class ReportResults(Fence):
    """`POST /api/crawls/{id}/results`."""

    results: Annotated[list[PageResult], Field(max_length=10_000)]
    sitemaps: Annotated[list[SitemapRead], Field(max_length=100)] | None = None


class ResultsAnswer(Answer):
    """`stop`: the crawl needs no more of this run; `reason` says why where it does."""

    stop: bool
    reason: str | None = None


class CloseLevel(Fence):
    """`POST /api/crawls/{id}/pages`. `results` may repeat what was sent."""

    results: Annotated[list[PageResult], Field(max_length=10_000)]
    compiled: Compiled


class NextPage(Answer):
    url: str
    host: str
    depth: int


class LevelClosed(Answer):
    """`next` are the rows that went in: the next frontier. Empty with a `stopReason` when the crawl is over.

    `again`: the level is not over yet; so many pages, whose captures did not reach us, are visited once more.
    """

    next: list[NextPage]
    stop_reason: StopReason | None
    again: int = 0


class RunFailed(Fence):
    """`POST /api/crawls/{id}/failed`."""

    outcome: RunOutcome
    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON_CHARACTERS)]


class RunFailedAnswer(Answer):
    """`closed`: the crawl ended with that. `nextAttempt`: the level is tried again. Neither: it changed nothing."""

    closed: bool
    next_attempt: int | None = None
