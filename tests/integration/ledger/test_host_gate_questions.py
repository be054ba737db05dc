"""What the host gate may be asked, and how it refuses the rest."""

import pytest

from tests.integration.ledger.desk import Desk, Json

HOST = "127.0.0.2:8000"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"host": ""}, "host"),
        ({"host": "a.test/path"}, "host"),
        ({"host": "A.test"}, "host"),
        ({"host": "a.test:70000"}, "host"),
        ({"host": "user@a.test"}, "host"),
        ({"host": "a b"}, "host"),
        ({"host": None}, "host"),
        ({"delayMs": -1}, "delayMs"),
        ({"delayMs": 600_001}, "delayMs"),
        ({"delayMs": "1"}, "delayMs"),
        ({"crawlDelayMs": 600_001}, "crawlDelayMs"),
        ({"holder": {"kind": "other", "crawlId": "c1", "depth": 0, "attempt": 1}}, "holder"),
        ({"holder": {"kind": "watch"}}, "holder.token"),
        ({"holder": {"crawlId": "c1", "depth": 0}}, "holder.attempt"),
        ({"holder": {"crawlId": "c1", "depth": -1, "attempt": 1}}, "holder.depth"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_bad_question_is_refused_by_its_field(shared_desk: Desk, change: Json, field: str) -> None:
    body = {"host": HOST, "holder": {"crawlId": "c1", "depth": 0, "attempt": 1}, "delayMs": 0, **change}
    refusal = shared_desk.post("/api/hosts/lease", body, 400)
    assert field in [problem["field"] for problem in refusal["fields"]], refusal


@pytest.mark.parametrize(
    "host", ["a.test", "a.test:8080", "[::1]:8000", "xn--bcher-kva.example", "a.test:80", "a.test:443"]
)
def test_host_as_a_work_order_names_it_is_taken(shared_desk: Desk, host: str) -> None:
    body = {"host": host, "holder": {"crawlId": "c1", "depth": 0, "attempt": 1}, "delayMs": 0}
    assert shared_desk.post("/api/hosts/lease", body, 404)["error"] == "no crawl 'c1'"


def test_unknown_lease_is_not_found(shared_desk: Desk) -> None:
    for call in ("renew", "release"):
        assert "no lease" in shared_desk.post(f"/api/hosts/{call}", {"leaseId": "l1"}, 404)["error"]
    for body in ({"leaseId": "l1", "retryAfterMs": -1}, {"leaseId": "l1", "retryAfterMs": 2**31}, {"leaseId": ""}):
        shared_desk.post("/api/hosts/release", body, 400)
