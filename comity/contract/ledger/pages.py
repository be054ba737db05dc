"""A page of a crawl as it is shown, and the tries that visited it."""

from typing import Annotated

from pydantic import Field, StrictInt

from comity.contract.ledger.states import PageState
from comity.contract.wire import Answer, Instant, Request

TryOutcome = Annotated[str, Field(min_length=1, max_length=2000)]
PromisedGapMs = Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]
"""What a host was promised when it was visited: this much rest since the visit before. The longest of our delay, the
host's crawl-delay, and a Retry-After while it lasted."""


class Try(Request):
    """One submission of a page to an endpoint, refusals and deadlines included. Times by the flow's clock."""

    try_: Annotated[StrictInt, Field(ge=1, le=1_000_000, alias="try")]
    endpoint: Annotated[str, Field(max_length=2000)]
    task_id: Annotated[str, Field(max_length=128)] | None = None
    submitted_at: Instant
    finished_at: Instant
    outcome: TryOutcome
    promised_gap_ms: PromisedGapMs | None = None
    lease_id: Annotated[str, Field(min_length=1, max_length=32)] | None = None
    """The lease of the host that it was made under."""
    waited_ms: Annotated[StrictInt, Field(ge=0, le=2**31 - 1)] | None = None
    """From that lease's arrival to the submission."""


class VisitView(Answer):
    """A try as the ledger keeps it, with its own receipt time."""

    try_: Annotated[int, Field(alias="try")]
    attempt: int
    endpoint: str
    task_id: str | None = None
    submitted_at: Instant
    finished_at: Instant
    received_at: Instant
    outcome: str
    promised_gap_ms: int | None = None


class PageView(Answer):
    page_id: str
    url: str
    host: str
    depth: int
    state: PageState
    reason: str | None = None
    http_status: int | None = None
    final_url: str | None = None
    artifacts: dict[str, str] = {}
    manifest_location: str | None = None
    manifest_error: str | None = None
    settled_at: Instant | None = None
    visits: list[VisitView] = []


class PageList(Answer):
    pages: list[PageView]
