"""The flow's report and the capture's manifest, weighed."""

from datetime import UTC, datetime
from typing import Any

import pytest

from comity.contract.capture import CaptureReport
from comity.contract.ledger import PageResult
from ledger.rules.outcome import Manifest, Settled, absent, replaces, settle

URL = "http://a.example/"
AT = datetime(2030, 1, 1, tzinfo=UTC)


def _result(**change: Any) -> PageResult:
    facts = {
        "page_id": "p1",
        "url": URL,
        "status": "captured",
        "task_id": "t1",
        "manifest_location": "file:///x/y.result.json",
        **change,
    }
    return PageResult.model_validate(facts)


def _manifest(**change: Any) -> Manifest:
    facts = {
        "task_id": "t1",
        "correlation_id": "c1.p1.1.2",
        "url": URL,
        "final_url": URL + "there",
        "labels": [],
        "status": "success",
        "http_status_code": 200,
        "timestamp": AT,
        "capture_processing_time_ms": 1,
        "artifacts": {"wacz": "file:///x/y.wacz", "links": "file:///x/y.links.json"},
        **change,
    }
    return Manifest("read", CaptureReport.model_validate(facts))


FAILED = {
    "status": "http_error",
    "http_status_code": 500,
    "artifacts": {},
    "error_details": {"type": "http", "message": "the site said 500"},
}


def _settle(result: PageResult, manifest: Manifest) -> Settled:
    return settle(result, manifest, crawl_id="c1", attempt=1)


@pytest.mark.parametrize("reported", ["captured", "failed"])
def test_manifest_beats_the_report(reported: str) -> None:
    good = _settle(_result(status=reported), _manifest())
    assert (good.state, good.admitted, good.reason) == ("captured", True, None)
    assert good.artifacts == {"wacz": "file:///x/y.wacz", "links": "file:///x/y.links.json"}
    assert (good.final_url, good.links_location) == (URL + "there", "file:///x/y.links.json")
    bad = _settle(_result(status=reported), _manifest(**FAILED))
    assert (bad.state, bad.reason, bad.artifacts) == ("failed", "http_error: the site said 500", {})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"correlation_id": "c1.p2.1.1"}, "correlationId"),
        ({"correlation_id": "c2.p1.1.1"}, "correlationId"),
        ({"correlation_id": "c1.p1.2.1"}, "correlationId"),
        ({"correlation_id": "c1.p1.1."}, "correlationId"),
        ({"correlation_id": "c1.p1.1.1x"}, "correlationId"),
        ({"correlation_id": None}, "missing"),
        ({"url": URL + "other"}, "url"),
        ({"task_id": "t2"}, "taskId"),
    ],
)
def test_manifest_of_another_page_proves_nothing(change: dict[str, Any], words: str) -> None:
    settled = _settle(_result(), _manifest(**change))
    assert (settled.state, settled.admitted) == ("failed", False)
    assert words in (settled.reason or "")


def test_unreadable_manifest_is_no_capture_and_one_elsewhere_is_recorded() -> None:
    lost = _settle(_result(), Manifest("unreadable", problem="No such file or directory"))
    assert (lost.state, lost.reason) == ("failed", "No such file or directory")
    elsewhere = _settle(_result(links_location="s3://b/l"), Manifest("elsewhere"))
    assert (elsewhere.state, elsewhere.admitted) == ("captured", False)
    assert "never read" in (elsewhere.reason or "")


@pytest.mark.parametrize("status", ["captured", "failed"])
def test_late_manifest_leaves_the_page_to_its_report_and_an_absent_one_takes_the_claim_back(status: str) -> None:
    late = Manifest("late", problem="No such file or directory")
    for_now = _settle(_result(status=status, reason="as told"), late)
    assert (for_now.state, for_now.admitted, for_now.artifacts) == (status, False, {})
    assert for_now.reason == "as told; not proved yet: No such file or directory"
    gone = absent(_result(status=status), late.problem)
    assert (gone.state, gone.admitted, gone.reason) == (
        "failed",
        False,
        "its manifest never came: No such file or directory",
    )


def test_report_without_task_says_its_reason() -> None:
    tries = [{"try": 1, "endpoint": "e", "submitted_at": AT, "finished_at": AT, "outcome": "deadline 145000 ms passed"}]
    bare = {"status": "failed", "task_id": None, "manifest_location": None}
    assert _settle(_result(**bare, reason="why"), Manifest("none")).reason == "why"
    assert _settle(_result(**bare, tries=tries), Manifest("none")).reason == "deadline 145000 ms passed"
    assert _settle(_result(**bare), Manifest("none")).reason == "no reason given"
    skipped = _settle(_result(**{**bare, "status": "skipped"}, skip_reason="robots"), Manifest("none"))
    assert (skipped.state, skipped.reason) == ("skipped", "robots")


def test_captured_without_manifest_says_so() -> None:
    settled = _settle(_result(manifest_location=None, manifest_error="disk full"), Manifest("none"))
    assert (settled.state, settled.reason) == ("captured", "no manifest: disk full")


def test_outcome_is_written_once_and_again_only_for_a_proven_capture() -> None:
    proven, claimed = Settled("captured", admitted=True), Settled("captured", admitted=False)
    failed = Settled("failed", admitted=True)
    assert replaces("pending", failed)
    assert replaces("failed", proven)
    assert replaces("skipped", proven)
    assert not replaces("failed", claimed)
    assert not replaces("captured", proven)
    assert not replaces("captured", failed)
    assert not replaces("failed", failed)
