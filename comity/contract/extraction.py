"""Wire models of extractors and of what crawls extract with them.

An extractor is a program of the scraping language with every file that it imports, kept as one unit. A crawl pins
versions of some by URL pattern; flow runs take the captured HTML of its pages through them, without another visit.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from comity.contract.scripts import ScriptId, Sha256Hex, Source
from comity.contract.wire import Answer, Instant, Request

MAX_EXTRACTOR_BYTES = 1024 * 1024
"""All files of an extractor together, in UTF-8."""
MAX_MODULES = 255
MAX_EXTRACTORS = 20
"""Of one crawl."""
MAX_HTML_BYTES = 32 * 1024 * 1024
"""A longer page is not read: the language's own limit."""
MAX_VALUE_BYTES = 4 * 1024 * 1024
"""What a program may give for one page, as JSON."""
MAX_WARNINGS = 200
"""Of one page that are kept; the last one kept says how many more there were."""
MAX_MESSAGE_CHARACTERS = 1000
MAX_RESULTS_PER_REPORT = 1000

PAGE_HTML_MISSING = "E_PAGE_HTML_MISSING"
"""The page was captured and no HTML of it was kept."""
PAGE_HTML_UNREADABLE = "E_PAGE_HTML_UNREADABLE"
"""The HTML is gone, or its store does not give it."""
PAGE_HTML_TOO_LARGE = "E_PAGE_HTML_TOO_LARGE"
PAGE_RESULT_TOO_LARGE = "E_PAGE_RESULT_TOO_LARGE"
PAGE_RESULT_UNSTORABLE = "E_PAGE_RESULT_UNSTORABLE"
"""A value has a character that no database holds: a NUL, or half of a surrogate pair."""
PAGE_KILLED_ITS_PROCESS = "E_PAGE_KILLED_ITS_PROCESS"
"""The process that read the page ended: out of memory, or by a fault of a library."""
PROGRAM_UNREADABLE = "E_IR_INVALID"
"""The language's own code: the machine of the flow run has another version of the language."""

ExtractorId = ScriptId
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")


def _module_path(value: str) -> str:
    if value.startswith("/") or posixpath.normpath(value) != value or value in (".", "..") or _CONTROL.search(value):
        raise ValueError(
            "write it from the entry file's folder, with forward slashes and no detours: shared/text.kdl, ../text.kdl"
        )
    return value


def _file_name(value: str) -> str:
    if "/" in value or value in (".", "..") or _CONTROL.search(value):
        raise ValueError("is a file's name without its folder: page.kdl")
    return value


ModulePath = Annotated[Source, Field(min_length=1, max_length=512), AfterValidator(_module_path)]
"""Relative to the entry file's folder: `shared/text.kdl`, `../text.kdl`."""
FileName = Annotated[Source, Field(min_length=1, max_length=255), AfterValidator(_file_name)]
UrlPattern = Annotated[str, Field(min_length=1, max_length=1000)]
"""An RE2 pattern, searched for anywhere in a page's URL, and in the URL that it led to."""


def sha256_of_files(files: Iterable[tuple[str, str]]) -> str:
    """The hash that identifies an extractor: SHA-256 over what `sha256sum` prints for its files in path order.

    `files` are (path, source). From a shell: `sha256sum page.kdl shared/text.kdl | sha256sum`.
    """
    lines = (f"{hashlib.sha256(source.encode()).hexdigest()}  {path}\n" for path, source in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


# --- the catalogue


class ModuleFile(Request):
    """A file that an extractor imports, directly or through others."""

    path: ModulePath
    source: Source


class AddExtractor(Request):
    """`POST /api/extractors`: a new version of `id`; the same files reuse the version.

    `source` is the entry file's text, `file` what diagnostics call it; `modules` every file that its imports lead to,
    and no other.
    """

    id: ExtractorId
    file: FileName = "extractor.kdl"
    source: Annotated[Source, Field(min_length=1)]
    modules: Annotated[list[ModuleFile], Field(max_length=MAX_MODULES)] = []
    description: Annotated[str, Field(max_length=2000)] = ""


class ChangeExtractor(Request):
    """`PATCH /api/extractors/{id}`. No new crawl can pin a disabled one."""

    enabled: StrictBool


class SourcePosition(Answer):
    """`offset` in UTF-8 bytes from 0, `line` and `column` from 1, columns in code points."""

    offset: int
    line: int
    column: int


class SourceSpan(Answer):
    """A stretch of one file; `end` is exclusive."""

    file: str
    start: SourcePosition
    end: SourcePosition


class DiagnosticView(Answer):
    """One thing to know about a program, as `comity extract check --json` tells it."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    span: SourceSpan
    path: str | None = None


class ExtractorView(Answer):
    """The newest version of a catalogue extractor, without its files. `name` is what the program calls itself."""

    id: str
    version: int
    name: str
    sha256: str
    description: str
    enabled: bool
    added_at: Instant


class ExtractorList(Answer):
    extractors: list[ExtractorView]


class ExtractorDetail(ExtractorView):
    """`GET /api/extractors/{id}`: one version with its files; the newest, or the one that was asked for.

    `versions` are all that there are, oldest first.
    """

    file: str
    source: str
    modules: list[ModuleFile]
    versions: list[int]


# --- what a crawl pins


class ExtractorChoice(Request):
    """A catalogue extractor for the pages whose URL matches: the newest version unless `version` says another."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    version: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)] | None = None
    url_pattern: UrlPattern


class ExtractorPin(Answer):
    """Which extractor a crawl runs over which pages."""

    id: str
    version: int
    sha256: Sha256Hex
    url_pattern: str


class PinnedExtractor(ExtractorPin):
    """The same with the program itself, checked, as its canonical JSON."""

    name: str
    program: str


class PinnedExtractors(Answer):
    """`GET /api/crawls/{id}/extractors`."""

    extractors: list[PinnedExtractor]


ExtractionState = Literal["idle", "waiting", "running", "stopped"]


class ExtractionProgress(Answer):
    """How far the extraction of a crawl is: (page, extractor) pairs by state; `partial` are among the extracted.

    `idle`: nothing waits. `waiting`: for the end of the level, or for a worker. `running`. `stopped`: what is pending
    stays so, for `reason`; `comity reconcile CRAWL` tries again. `runUrl` opens the newest flow run in the Prefect UI.
    """

    state: ExtractionState
    pending: int
    extracted: int
    failed: int
    partial: int
    reason: str | None = None
    run_id: str | None = None
    run_url: str | None = None


# --- a flow run's work


class OrderExtractions(Request):
    """`POST /api/crawls/{id}/extractions/orders`: the next pages for this run. A sign of life."""

    number: Annotated[StrictInt, Field(ge=1, le=1_000_000)]
    run_id: Annotated[str, Field(min_length=1, max_length=64)]


class PageToExtract(Answer):
    """A captured page, and the ids of the extractors that it waits for."""

    page_id: str
    url: str
    extractors: list[str]


class ExtractionOrder(Answer):
    """Pages whose HTML is to be read from `GET /api/crawls/{id}/pages/{pageId}/html`. None: the run is over."""

    crawl_id: str
    pages: list[PageToExtract]


class ExtractionWarning(Request):
    """Something that the program recovered from."""

    code: Annotated[str, Field(max_length=100)]
    message: Annotated[str, Field(max_length=MAX_MESSAGE_CHARACTERS)]
    path: Annotated[str, Field(max_length=MAX_MESSAGE_CHARACTERS)] | None = None
    row: Annotated[StrictInt, Field(ge=0, le=2**53 - 1)] | None = None


class ExtractionError(Request):
    """Why a page gave nothing."""

    code: Annotated[str, Field(min_length=1, max_length=100)]
    message: Annotated[str, Field(max_length=MAX_MESSAGE_CHARACTERS)]
    path: Annotated[str, Field(max_length=MAX_MESSAGE_CHARACTERS)] | None = None


class ExtractionResult(Request):
    """What one program gave for one page: a `value`, or an `error`."""

    page_id: Annotated[str, Field(min_length=1, max_length=32)]
    extractor: Annotated[str, Field(min_length=1, max_length=64)]
    value: dict[str, Any] | None = None
    partial: StrictBool = False
    warnings: Annotated[list[ExtractionWarning], Field(max_length=MAX_WARNINGS)] = []
    error: ExtractionError | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.value is None) == (self.error is None):
            raise ValueError("give exactly one of value and error")
        return self


class ReportExtractions(Request):
    """`POST /api/crawls/{id}/extractions/results`. A pair that has its result keeps it, however often it is told."""

    number: Annotated[StrictInt, Field(ge=1, le=1_000_000)]
    run_id: Annotated[str, Field(min_length=1, max_length=64)]
    results: Annotated[list[ExtractionResult], Field(max_length=MAX_RESULTS_PER_REPORT)]


class ExtractionsTaken(Answer):
    """`stop`: the run is not the crawl's any more; what it told was taken all the same."""

    stop: bool
    reason: str | None = None


# --- what came of it


class ExtractionView(Answer):
    """What one extractor gave for one page: `value` where it is `extracted`, `error` where it `failed`."""

    page_id: str
    url: str
    final_url: str | None = None
    depth: int
    captured_at: Instant | None = None
    extractor: str
    version: int
    state: Literal["extracted", "failed"]
    value: dict[str, Any] | None = None
    partial: bool = False
    warnings: list[ExtractionWarning] = []
    error: ExtractionError | None = None
    extracted_at: Instant


class ExtractionList(Answer):
    """`GET /api/crawls/{id}/extractions`, pages in frontier order. `next` is the cursor (`after`) of what follows."""

    extractions: list[ExtractionView]
    next: str | None = None
