"""What the ledger answers when it refuses."""

from comity.contract.extraction import DiagnosticView
from comity.contract.wire import Answer, Instant

NO_ENABLED_TARGET = "no-enabled-target"
CRAWL_IN_THE_WAY = "crawl-in-the-way"
SLOTS_TAKEN = "slots-taken"
OUTCOMES_MISSING = "outcomes-missing"
STALE_RUN = "stale-run"
KEY_REUSED = "key-reused"
NAME_TAKEN = "name-taken"
NO_SPACE = "no-space"
EXTRACTOR_REJECTED = "extractor-rejected"
"""Codes of refusals that a program may want to tell apart: its status is shared, and its text is for people."""


class CrawlInTheWay(Answer):
    """409 of a start: the crawl that runs already."""

    error: str
    code: str = CRAWL_IN_THE_WAY
    crawl_id: str
    started_at: Instant


class ErrorField(Answer):
    """`field` is the wire name, dotted, list places as numbers: `capture.viewport.width`, `seeds.3`."""

    field: str
    message: str


class LedgerError(Answer):
    """Every refusal of the ledger. `error` is for people and may change; programs decide by status and `code`."""

    error: str
    code: str | None = None
    fields: list[ErrorField] = []


class MissingOutcomes(Answer):
    """409 of a closing: pages of the frontier that nothing was said about."""

    error: str
    code: str = OUTCOMES_MISSING
    missing: list[str]


class ExtractorRejected(Answer):
    """400 of an extractor that is wrong: every diagnostic with its place, the first few among `fields` too."""

    error: str
    code: str = EXTRACTOR_REJECTED
    fields: list[ErrorField] = []
    diagnostics: list[DiagnosticView]
