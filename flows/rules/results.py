"""What came of a page, as the ledger is told."""

from collections.abc import Sequence

from comity.contract.capture import CaptureAnswer
from comity.contract.ledger import PageResult, Try
from flows.rules.plan import PageWork
from flows.rules.reasons import one_line
from flows.rules.retry import outcome_of

MAX_TRIES_TOLD = 1_000
"""A page that waited ten minutes for a browser was refused a thousand times; the first and last ones tell it all."""


def captured_or_failed(page: PageWork, answer: CaptureAnswer, tries: Sequence[Try]) -> PageResult:
    """The server answered: its report decides, and its manifest goes along."""
    report = answer.report
    captured = report.status == "success"
    return PageResult(
        page_id=page.page_id,
        url=page.url,
        status="captured" if captured else "failed",
        reason=None if captured else outcome_of(report),
        failure=report.error_details.type if report.error_details is not None and not captured else None,
        task_id=answer.task_id,
        links_location=report.artifacts.links,
        manifest_location=answer.manifest.location,
        manifest_error=None if answer.manifest.error is None else one_line(answer.manifest.error),
        http_status=report.http_status_code,
        tries=told(tries),
    )


def failed(page: PageWork, reason: str, tries: Sequence[Try], *, lost: bool = False) -> PageResult:
    """No answer that names a task: a deadline, a refusal, or, with `lost`, a connection that ended."""
    return PageResult(
        page_id=page.page_id,
        url=page.url,
        status="failed",
        reason=one_line(reason),
        failure="lost" if lost else None,
        tries=told(tries),
    )


def skipped(page: PageWork, reason: str) -> PageResult:
    """Not visited, on purpose."""
    return PageResult(page_id=page.page_id, url=page.url, status="skipped", skip_reason=one_line(reason))


def told(tries: Sequence[Try]) -> list[Try]:
    """All tries, or so many of the first and the last that the report stays small."""
    half = MAX_TRIES_TOLD // 2
    return list(tries) if len(tries) <= MAX_TRIES_TOLD else [*tries[:half], *tries[-half:]]
