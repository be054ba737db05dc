"""`POST /api/crawls`: what a crawl is asked to be."""

from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictInt

from comity.contract.capture import CaptureFormats, PageSettings
from comity.contract.extraction import MAX_EXTRACTORS, ExtractorChoice
from comity.contract.ledger.states import MAX_HOST_DELAY_MS, Scope
from comity.contract.scripts import Phase, Source
from comity.contract.wire import Answer, Request


class FromTargets(Request):
    """Seeds from the enabled rows of the caller's capture targets."""

    limit: Annotated[StrictInt, Field(ge=1, le=10_000)] | None = None


class ScriptChoice(Request):
    """A catalogue script: the newest version unless `version` says another."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    version: Annotated[StrictInt, Field(ge=1)] | None = None
    options: dict[str, Any] | None = None


class InlineScript(Request):
    """A script written on the spot, pinned on the crawl as `inline-<name>`, version 1."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=57)]
    phase: Phase
    source: Annotated[Source, Field(min_length=1)]
    options: dict[str, Any] | None = None


class CrawlCaptureSettings(PageSettings):
    """Page settings of one crawl over the deployment's. Formats and signing only where the deployment allows."""

    formats: CaptureFormats | None = None
    signing: StrictBool | None = None


LinkPatternList = Annotated[list[Annotated[str, Field(min_length=1, max_length=1000)]], Field(max_length=100)]
"""RE2 patterns, searched for anywhere in a link's URL."""


class StartCrawl(Request):
    """`POST /api/crawls`. Exactly one of `seeds`, `fromTargets`; the ledger says which rule was broken.

    With `sitemaps`, what the sitemaps of the seeds' hosts name counts as links of the first level, after those of its
    pages. A link in scope is followed where it matches a pattern of `include` (or there are none) and none of
    `exclude`. Seeds are always visited. `extractors` run over the captured HTML of the pages that match their pattern,
    after each level and without another visit.
    """

    seeds: Annotated[list[str], Field(min_length=1, max_length=10_000)] | None = None
    from_targets: FromTargets | None = None
    scope: Scope = "same-origin"
    max_depth: Annotated[StrictInt, Field(ge=0, le=10)] | None = None
    max_pages: Annotated[StrictInt, Field(ge=1, le=10_000)] = 30
    max_bytes: Annotated[StrictInt, Field(ge=1, le=2**53 - 1)] | None = None
    """What the crawl's artifacts may take up; the deployment may set a limit of its own, which this cannot exceed."""
    per_host_delay_ms: Annotated[StrictInt, Field(ge=0, le=MAX_HOST_DELAY_MS)] = 2000
    host_parallelism: Annotated[StrictInt, Field(ge=1, le=32)] = 4
    respect_robots: StrictBool = True
    include: LinkPatternList = []
    exclude: LinkPatternList = []
    sitemaps: StrictBool = False
    capture: CrawlCaptureSettings = CrawlCaptureSettings()
    scripts: Annotated[list[str | ScriptChoice | InlineScript], Field(max_length=100)] | None = None
    extractors: Annotated[list[ExtractorChoice], Field(max_length=MAX_EXTRACTORS)] = []


class CrawlStarted(Answer):
    crawl_id: str
