from typing import Any

from rich.console import Console

from comity.cli.audit_view import audit_json, render_audit
from comity.contract.audit import HostAudit, Violation, VisitRef
from tests.unit.cli.facts import at, audit


def shown(*audits: HostAudit) -> str:
    console = Console(width=250)
    with console.capture() as capture:
        console.print(render_audit(audits))
    return capture.get()


def visit(began_s: float, ended_s: float, crawl_id: str = "c1") -> VisitRef:
    url = "http://a.test/x" if crawl_id else ""
    return VisitRef(
        crawl_id=crawl_id, page_id="p1", url=url, attempt=1, number=1, run_id="r",
        submitted_at=at(began_s), finished_at=at(ended_s),
    )  # fmt: skip


def broken(**more: Any) -> HostAudit:
    violation = Violation(
        kind="short-gap", gap_ms=200, promised_ms=1000, clock="ledger", earlier=visit(0, 1), later=visit(1.2, 2, "c2")
    )
    facts: dict[str, Any] = {"smallest_gap_ms": 200, "broken": 1, "violations": [violation]} | more
    return audit(**facts)


def test_hosts_that_were_treated_as_promised_say_so() -> None:
    text = shown(audit(), audit("b.test", visits=1, smallest_gap_ms=None, clock=None))
    assert "3 visits to 2 hosts: every promise was kept" in text
    assert "run: gaps by the flow run's own clock" in text
    assert "ledger:" not in text
    assert "broken" not in text


def test_broken_promise_is_shown_with_both_visits_and_its_clock() -> None:
    text = shown(audit("b.test"), broken())
    assert "1 hosts were not given what they were promised" in text
    [row] = [line for line in text.splitlines() if "short-gap" in line]
    for said in ("a.test", "0.20 s", "1.00 s", "ledger", "c1 http://a.test/x", "c2 http://a.test/x", "12:00:01.200"):
        assert said in row
    assert "ledger: gaps by the ledger's clock, by leases" in text


def test_violations_that_are_not_told_are_counted_and_those_of_others_not_named() -> None:
    text = shown(broken(broken=60))
    assert "and 59 more" in text
    foreign = Violation(
        kind="overlap", gap_ms=-5, promised_ms=0, clock="ledger", earlier=visit(0, 1, ""), later=visit(0, 2)
    )
    assert "another organisation's try 1" in shown(broken(violations=[foreign]))


def test_nothing_visited_is_nothing_broken() -> None:
    assert "0 visits to 0 hosts: every promise was kept" in shown()


def test_json_has_what_is_unknown_as_null() -> None:
    [host] = audit_json([audit(smallest_gap_ms=None, clock=None)])
    assert (host["smallestGapMs"], host["clock"], host["violations"]) == (None, None, [])
