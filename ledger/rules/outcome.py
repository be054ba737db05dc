"""What a page became: the flow's report and the capture's own manifest, weighed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from comity.contract.capture import CaptureReport, ErrorType
from comity.contract.ledger import PageResult, PageState

MAX_REASON = 2000


@dataclass(frozen=True)
class Manifest:
    """What came of looking for a page's manifest.

    `read`: here it is. `elsewhere`: not below our root or in our bucket, so recorded and never read. `late`: it is not
    there yet, or its store is away; worth another look. `unreadable`: what is there is no manifest. `problem` says what
    is wrong. `none`: the report names no manifest.
    """

    kind: Literal["read", "elsewhere", "late", "unreadable", "none"]
    report: CaptureReport | None = None
    problem: str = ""
    away: bool = False
    """Of a late one: its store does not answer, so that others there need not be asked for either."""


@dataclass(frozen=True)
class Settled:
    """The page's new row. `admitted`: the manifest proved it."""

    state: PageState
    admitted: bool
    reason: str | None = None
    http_status: int | None = None
    final_url: str | None = None
    artifacts: Mapping[str, str] = field(default_factory=dict)
    links_location: str | None = None
    failure: ErrorType | Literal["lost"] | None = None


def mismatch(report: CaptureReport, result: PageResult, *, crawl_id: str, attempt: int) -> str | None:
    """Why a manifest does not belong to this page, or None: its correlation id, task and URL must be the page's."""
    wanted = f"{crawl_id}.{result.page_id}.{attempt}."
    correlation_id = report.correlation_id or ""
    if not (correlation_id.startswith(wanted) and correlation_id[len(wanted) :].isdigit()):
        return f"its correlationId is {correlation_id or 'missing'}, not {wanted}<try>"
    if report.task_id != result.task_id:
        return f"its taskId is {report.task_id}, not {result.task_id}"
    if report.url != result.url:
        return f"its url is {report.url}, not {result.url}"
    return None


def settle(result: PageResult, manifest: Manifest, *, crawl_id: str, attempt: int) -> Settled:
    """The page's outcome. A manifest that matches beats the report, whichever way they differ.

    One that is late leaves the page to its report, for now: the reason says so, and it is looked for again.
    """
    if manifest.kind == "read" and manifest.report is not None:
        problem = mismatch(manifest.report, result, crawl_id=crawl_id, attempt=attempt)
        if problem is None:
            return _by_manifest(manifest.report, result)
        return _without_proof(result, f"the manifest is not this page's: {problem}")
    if manifest.kind == "unreadable":
        return _without_proof(result, manifest.problem)
    reason = result.skip_reason if result.status == "skipped" else result.reason
    if result.status == "failed" and not reason:
        reason = result.tries[-1].outcome if result.tries else "no reason given"
    if manifest.kind == "elsewhere":
        reason = _joined(reason, "its manifest lies outside LEDGER_ARTIFACT_ROOT and our bucket: recorded, never read")
    elif manifest.kind == "late":
        reason = _joined(reason, f"not proved yet: {manifest.problem}")
    elif result.manifest_error is not None:
        reason = _joined(reason, f"no manifest: {result.manifest_error}")
    failure = result.failure if result.status == "failed" else None
    return Settled(result.status, admitted=False, reason=_cut(reason), http_status=result.http_status,
                   links_location=result.links_location, failure=failure)  # fmt: skip


def replaces(old: PageState, new: Settled) -> bool:
    """True where the outcome may be written: once, and once more where a manifest proves a capture after all."""
    return old == "pending" or (old != "captured" and new.state == "captured" and new.admitted)


def absent(result: PageResult, problem: str) -> Settled:
    """The outcome of a page whose manifest never came: what was reported captured is not claimed any longer."""
    return _without_proof(result, f"its manifest never came: {problem}")


def _by_manifest(report: CaptureReport, result: PageResult) -> Settled:
    status = report.http_status_code if report.http_status_code is not None else result.http_status
    if report.status == "success":
        artifacts = {name: place for name, place in report.artifacts.model_dump(by_alias=True).items() if place}
        return Settled("captured", admitted=True, http_status=status, final_url=report.final_url or report.url,
                       artifacts=artifacts, links_location=artifacts.get("links"))  # fmt: skip
    details = report.error_details
    reason = f"{report.status}: {details.message}" if details else (result.reason or report.status)
    return Settled("failed", admitted=True, reason=_cut(reason), http_status=status, final_url=report.final_url,
                   failure=details.type if details else None)  # fmt: skip


def _without_proof(result: PageResult, problem: str) -> Settled:
    """A manifest that should prove the page and cannot: no capture is claimed on the report's word alone."""
    if result.status == "skipped":
        return Settled("skipped", admitted=False, reason=_cut(_joined(result.skip_reason, problem)))
    reason = _joined(result.reason if result.status == "failed" else None, problem)
    return Settled("failed", admitted=False, reason=_cut(reason), http_status=result.http_status)


def _joined(first: str | None, second: str) -> str:
    return f"{first}; {second}" if first else second


def _cut(reason: str | None) -> str | None:
    return reason if reason is None or len(reason) <= MAX_REASON else reason[: MAX_REASON - 1] + "…"
