"""Wire models of the capture server (`POST /captures`, `GET /status`, `GET /healthz`)."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from comity.contract.scripts import ScriptId, Source
from comity.contract.web_address import web_url
from comity.contract.wire import Answer, Instant, Request

CAPTURE_BUDGET_MS = 130_000
"""A capture with its writes ends within this."""
MANIFEST_BUDGET_MS = 10_000
"""Writing the manifest, after the capture."""
CALLER_DEADLINE_MS = 145_000
"""What a caller waits: 130 s for the capture, 10 s for its manifest, 5 s for the way there and back."""

MAX_NAME_BYTES = 255
"""What a file name may weigh on the file systems that archives live on."""

WebUrl = Annotated[str, Field(max_length=8192), AfterValidator(web_url)]


def _printable_ascii(value: str) -> str:
    if not all(" " <= character <= "~" for character in value):
        raise ValueError("printable ASCII only")
    return value


class CaptureFormats(Request):
    """Which artifacts to make: all six named, at least one of them true."""

    png: StrictBool
    webp: StrictBool
    html: StrictBool
    links: StrictBool
    mhtml: StrictBool
    wacz: StrictBool

    @model_validator(mode="after")
    def _at_least_one(self) -> Self:
        if not any((self.png, self.webp, self.html, self.links, self.mhtml, self.wacz)):
            raise ValueError("at least one format must be true")
        return self


class Viewport(Request):
    """CSS pixels."""

    width: Annotated[StrictInt, Field(ge=1, le=16384)]
    height: Annotated[StrictInt, Field(ge=1, le=16384)]


class LoadWait(Request):
    """How long to wait after load until the page has settled: quiet network, CPU and DOM together."""

    min_ms: Annotated[StrictInt, Field(ge=0, le=60_000)] = 0
    max_ms: Annotated[StrictInt, Field(ge=0, le=60_000)] = 10_000
    quiet_ms: Annotated[StrictInt, Field(ge=0, le=60_000)] = 500
    network_concurrency: Annotated[StrictInt, Field(ge=0, le=100)] = 0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_ms > self.max_ms:
            raise ValueError("minMs must not be over maxMs")
        if self.quiet_ms > self.max_ms:
            raise ValueError("quietMs must not be over maxMs")
        return self


class UrlPolicy(Request):
    """`pattern` is a glob (`*`) over the whole URL; the first that matches wins."""

    pattern: Annotated[str, Field(min_length=1, max_length=2048)]
    action: Literal["deny", "no-archive", "no-body"]


class ContentTypePolicy(Request):
    """Responses whose content type begins with `prefix` keep no body."""

    prefix: Annotated[str, Field(min_length=1, max_length=255)]
    action: Literal["no-body"]


class Heuristic(Request):
    """The large fixed overlay: share of the viewport that it covers, and its z-index."""

    enabled: StrictBool = True
    min_viewport_coverage_ratio: Annotated[float, Field(ge=0, le=1)] = 0.3
    min_z_index: StrictInt = 100


class BannerSpec(Request):
    use_defaults: StrictBool = True
    extra_selectors: Annotated[list[Annotated[str, Field(min_length=1, max_length=1024)]], Field(max_length=100)] = []
    exclude_frameworks: Annotated[list[str], Field(max_length=100)] = []
    heuristic: Heuristic = Heuristic()
    fail_on_error: StrictBool = False


class DismissBanners(Request):
    """Either `enabled`, or a `spec`."""

    enabled: StrictBool | None = None
    spec: BannerSpec | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.enabled is None) == (self.spec is None):
            raise ValueError("give exactly one of enabled, spec")
        return self


class PageScript(Request):
    """JavaScript to run in the page. `sha256` (either case) is over the UTF-8 bytes of `source`."""

    id: ScriptId
    source: Source
    sha256: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")]
    options: dict[str, Any] | None = None


class ArtifactSink(Request):
    """Where artifacts go instead of the server's own store: `PUT {url}/{filename}` with the bearer token."""

    url: WebUrl
    token: Annotated[str, Field(min_length=1, max_length=4096, repr=False)]


class PageSettings(Request):
    """The page settings of a capture that a crawl may choose too."""

    accept_language: Annotated[str, AfterValidator(_printable_ascii), Field(max_length=200)] | None = None
    dismiss_banners: DismissBanners | None = None
    viewport: Viewport | None = None
    operation_delay_ms: Annotated[StrictInt, Field(ge=0, le=5000)] | None = None
    device_pixel_ratios: (
        Annotated[list[Annotated[StrictInt, Field(ge=1, le=3)]], Field(min_length=1, max_length=3)] | None
    ) = None
    full_page: StrictBool | None = None
    session: Literal["isolated", "shared"] | None = None
    max_response_bytes: Annotated[StrictInt, Field(ge=1)] | None = None
    url_policies: Annotated[list[UrlPolicy], Field(max_length=1000)] | None = None
    content_type_policies: Annotated[list[ContentTypePolicy], Field(max_length=1000)] | None = None
    storage_values: StrictBool | None = None
    load_wait: LoadWait | None = None

    @model_validator(mode="after")
    def _ratios_differ(self) -> Self:
        if self.device_pixel_ratios is not None and len(set(self.device_pixel_ratios)) != len(self.device_pixel_ratios):
            raise ValueError("devicePixelRatios must not repeat")
        return self


Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\\\x00-\x1f_]+$")]
CorrelationId = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9.\-]+$")]


class CaptureRequest(PageSettings):
    """`POST /captures`: one page, now."""

    url: WebUrl
    capture_formats: CaptureFormats
    labels: Annotated[list[Label], Field(max_length=16)] = []
    correlation_id: CorrelationId | None = None
    signing: StrictBool | None = None
    trace: StrictBool | None = None
    behaviors: Annotated[list[PageScript], Field(max_length=100)] = []
    preload: Annotated[list[PageScript], Field(max_length=100)] = []
    artifact_sink: ArtifactSink | None = None

    @model_validator(mode="after")
    def _signing_needs_wacz(self) -> Self:
        if self.signing and not self.capture_formats.wacz:
            raise ValueError("signing needs captureFormats.wacz")
        return self


CaptureStatus = Literal["success", "failed", "timeout", "http_error"]
ErrorType = Literal["http", "timeout", "connection", "signing", "internal", "artifact_sink", "cancelled", "policy"]


class ErrorDetails(Answer):
    """Why a capture has no artifacts. `step` says where in the capture it happened."""

    type: ErrorType
    message: str
    http_status_code: int | None = None
    http_status_text: str | None = None
    timeout_ms: int | None = None
    step: str | None = None


class Artifacts(Answer):
    """Locations, `file:///…` or `s3://bucket/key`, to be passed on as they are."""

    png: str | None = None
    webp: str | None = None
    html: str | None = None
    links: str | None = None
    mhtml: str | None = None
    wacz: str | None = None


class WaczStats(Answer):
    total_recorded: int
    total_body_bytes: int
    total_blocked: int


class Completeness(Answer):
    """What the archive lacks: `complete` only where both lists are empty."""

    bodyless_urls: list[str]
    truncated_urls: list[str]
    complete: bool


class Settle(Answer):
    """How the wait after load ended: `quiet`, or cut at `max`."""

    outcome: Literal["quiet", "max"]
    waited_ms: int
    pending_requests: int


class Coverage(Answer):
    """How far down the page was in view, measured by us in CSS pixels, and what scrolling scripts claim of themselves.

    `complete`: the end of the document as it stood at the end was in view. `cut_by` is a script's own word for what
    stopped it (`endless`, `deadline`...), and like all of `claims` the page could have forged it.
    """

    document_height_px: int
    viewport_height_px: int
    seen_height_px: int
    complete: bool
    cut_by: str | None = None
    claims: dict[str, Any] = {}


class DismissedBanner(Answer):
    """One banner taken out of the way. `refused`: by its own button; nothing is ever consented to."""

    by: Literal["framework", "selector", "heuristic"]
    how: Literal["refused", "hidden"]
    selector: str
    framework: str | None = None
    coverage_ratio: float | None = None


class Banners(Answer):
    """What `dismissBanners` did to the page, and what it could not do."""

    dismissed: list[DismissedBanner] = []
    errors: list[str] = []


class CaptureReport(Answer):
    """What came of one capture. Only `success` has artifacts."""

    task_id: str
    correlation_id: str | None = None
    url: str
    final_url: str | None = None
    labels: list[str]
    status: CaptureStatus
    http_status_code: int | None = None
    retry_after_ms: int | None = None
    timestamp: Instant
    capture_processing_time_ms: int
    artifacts: Artifacts
    wacz_stats: WaczStats | None = None
    completeness: Completeness | None = None
    coverage: Coverage | None = None
    signature: dict[str, Any] | None = None
    trace_location: str | None = None
    settle: Settle | None = None
    banners: Banners | None = None
    error_details: ErrorDetails | None = None


class ManifestOutcome(Answer):
    """Where the manifest lies, or why it does not: exactly one."""

    location: str | None = None
    error: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.location is None) == (self.error is None):
            raise ValueError("exactly one of location, error")
        return self


class CaptureAnswer(Answer):
    """200 of `POST /captures`."""

    task_id: str
    report: CaptureReport
    manifest: ManifestOutcome


class FieldProblem(Answer):
    """`path` is a JSON Pointer (RFC 6901) into the request."""

    path: str
    message: str


class Refusal(Answer):
    """Every refusal. Its kind is in the response header `x-amzn-errortype`."""

    message: str
    field_list: list[FieldProblem] | None = None


class PageLink(Answer):
    """One `a[href]` or `area[href]`, resolved; `rel` as written."""

    href: str
    text: str | None = None
    rel: str | None = None


class PageRobots(Answer):
    """What the page tells robots, as it has it: one `<meta>` or one `X-Robots-Tag`.

    `name` is whom a meta element speaks to, in lower case: `robots`, or our token `comity`. A header names an agent
    within its value, where it does.
    """

    source: Literal["meta", "header"]
    name: str | None = None
    value: str


class LinksFile(Answer):
    """`….links.json`: the links of the rendered page in document order, and what the page tells robots."""

    url: str
    final_url: str | None = None
    links: list[PageLink]
    robots: list[PageRobots] = []


class BrowserStatus(Answer):
    url: str | None = None
    connected: bool
    version: str | None = None


class Build(Answer):
    version: str
    revision: str
    build_time: str


StoreKind = Literal["folder", "s3"]
SigningPolicy = Literal["off", "on-request", "required"]


class Limits(Answer):
    max_response_bytes: int
    max_task_bytes: int
    max_pending_requests: int


class CaptureServerStatus(Answer):
    """`GET /status`."""

    busy: bool
    browser: BrowserStatus
    build: Build
    limits: Limits
    signing: SigningPolicy | None = None
    """Whether archives are signed; None: the server does not say."""
    store: StoreKind | None = None
    """Where artifacts go that no sink is named for; None: the server does not say."""
    default_url_policies: list[UrlPolicy]
    default_content_type_policies: list[ContentTypePolicy]
