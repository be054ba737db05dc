"""Pacing, retries, endpoints, reasons, scripts, results, triggers: tables."""

from datetime import UTC, datetime
from typing import Any

import pytest

from comity.contract.capture import ArtifactSink, CaptureAnswer, CaptureReport
from comity.contract.compiler import CompileAnswer, Diagnostic
from comity.contract.ledger import CrawlView, Try, WorkOrder
from comity.contract.scripts import PinnedScript, sha256_of
from flows.rules.endpoints import Unreachable, all_busy, all_unreachable, order
from flows.rules.facts import capture_request, level_facts
from flows.rules.pacing import Pacing, busy_wait_ms, gap_ms, rest_ms, wait_before_ms
from flows.rules.plan import PageWork
from flows.rules.reasons import diagnostics_reason, one_line, step_reason
from flows.rules.results import captured_or_failed, failed, skipped, told
from flows.rules.retry import Failure, Streak, asks_for_rest, failure_of, outcome_of, tries_again
from flows.rules.scripts import join
from flows.rules.trigger import end_of, nothing_to_do, wanted_crawl
from tests.fakes.endpoints import answer
from tests.fakes.http_server import Asked
from tests.fakes.ledger import crawl_view, script, work_order

ASKED = Asked("POST", "/captures", "", {}, {"url": "http://a.test/", "correlationId": "c1.p1.1.1"}, 0)
PAGE = PageWork("p1", "http://a.test/")


def report(status: str = "success", **more: Any) -> CaptureReport:
    """A capture report."""
    return CaptureAnswer.model_validate(answer(ASKED, status, **more)).report


# --- pacing


@pytest.mark.parametrize(
    ("delay_ms", "since_ms", "expected"), [(1000, None, 0), (1000, 0, 1000), (1000, 999, 1), (1000, 1000, 0), (0, 0, 0)]
)
def test_gap_counts_from_the_last_finish(delay_ms: int, since_ms: int | None, expected: int) -> None:
    assert gap_ms(delay_ms, since_ms) == expected


@pytest.mark.parametrize(("own", "others", "expected"), [(5, (3,), 5), (3, (5, 4), 5), (0, (), 0), (-1, (-2,), 0)])
def test_longest_wait_wins(own: int, others: tuple[int, ...], expected: int) -> None:
    assert wait_before_ms(own, *others) == expected


@pytest.mark.parametrize(
    ("delay_ms", "asked_ms", "expected"), [(2000, None, 2000), (2000, 1000, 2000), (2000, 9000, 9000), (0, 0, 0)]
)
def test_rest_is_the_longer_of_delay_and_retry_after(delay_ms: int, asked_ms: int | None, expected: int) -> None:
    assert rest_ms(delay_ms, asked_ms) == expected


@pytest.mark.parametrize(("fraction", "expected"), [(0.0, 500), (0.5, 1000), (1.0, 1500)])
def test_busy_wait_is_between_half_a_second_and_one_and_a_half(fraction: float, expected: int) -> None:
    assert busy_wait_ms(Pacing(), fraction) == expected


def test_budgets_are_those_of_the_contract() -> None:
    pacing = Pacing()
    assert (pacing.capture_deadline_ms, pacing.busy_budget_ms) == (145_000, 600_000)
    assert (pacing.unreachable_wait_ms, pacing.unreachable_rounds) == (30_000, 2)
    assert (pacing.result_budget_ms, pacing.heartbeat_ms) == (60_000, 10_000)


# --- endpoints


@pytest.mark.parametrize(
    ("place", "number", "expected"),
    [(0, 0, (0, 1, 2)), (0, 1, (1, 2, 0)), (0, 2, (2, 0, 1)), (0, 3, (0, 1, 2)), (1, 0, (1, 2, 0)), (2, 2, (1, 2, 0))],
)
def test_order_rotates_from_page_to_page_and_host_to_host(place: int, number: int, expected: tuple[int, ...]) -> None:
    assert order(3, host_place=place, page_number=number) == expected


def test_unavailable_quotes_each_endpoint() -> None:
    said = all_unreachable([Unreachable("http://a:1", "refused"), Unreachable("http://b:1", "unknown CA")])
    assert said == "no capture server can be reached: http://a:1: refused; http://b:1: unknown CA"
    assert all_busy(600_000, ["http://a:1"]) == "all 1 capture servers were busy for 600 s: http://a:1"


# --- retry


@pytest.mark.parametrize(
    ("failure", "again"),
    [
        ("connection", True),
        ("timeout", True),
        ("internal", True),
        ("lost", True),
        ("artifact_sink", False),
        ("policy", False),
        ("signing", False),
        ("http", False),
        ("cancelled", False),
    ],
)
def test_passing_failures_are_tried_once_more_and_others_never(failure: Failure, again: bool) -> None:
    assert tries_again(failure, 1) is again
    assert tries_again(failure, 2) is False


@pytest.mark.parametrize(
    ("given", "expected", "said"),
    [
        (report(), None, "success"),
        (report("failed", error="connection", message="refused"), "connection", "failed: refused"),
        (report("timeout", error="timeout", message="130 s"), "timeout", "timeout: 130 s"),
        (report("http_error", error="http", message="404 Not Found"), "http", "http_error: 404 Not Found"),
        (report("http_error", http_status=404), "http", "http_error: HTTP 404"),
        (report("timeout", http_status=None), "timeout", "timeout: no details"),
        (report("failed", http_status=None), "internal", "failed: no details"),
        (report("failed", error="internal", message="two\nlines"), "internal", "failed: two lines"),
    ],
)
def test_report_tells_kind_and_one_line(given: CaptureReport, expected: str | None, said: str) -> None:
    assert failure_of(given) == expected
    assert outcome_of(given) == said


@pytest.mark.parametrize(("status", "rests"), [(429, True), (503, True), (500, False), (404, False), (200, False)])
def test_only_429_and_503_ask_for_rest(status: int, rests: bool) -> None:
    assert asks_for_rest(report("http_error", http_status=status)) is rests


def test_fifth_connection_failure_in_a_row_makes_a_host_unreachable() -> None:
    streak = Streak()
    for _ in range(4):
        streak = streak.after("connection")
    assert not streak.unreachable
    assert streak.after("connection").unreachable


@pytest.mark.parametrize(
    ("between", "length"),
    [(None, 0), ("http", 0), ("timeout", 0), ("policy", 0), ("lost", 4), ("internal", 4), ("cancelled", 4)],
)
def test_what_proves_the_host_ends_the_streak_and_our_own_faults_do_not(between: Failure | None, length: int) -> None:
    assert Streak(4).after(between).length == length


# --- reasons


def test_reason_is_one_line_within_the_ledgers_limit() -> None:
    assert step_reason("plan", "a\n b") == "[plan] a b"
    assert one_line("x" * 2000) == "x" * 2000
    cut = one_line("x" * 2001)
    assert (len(cut), cut[-1]) == (2000, "…")
    assert one_line(" \n ") == "no reason given"


def test_diagnostics_are_counted_and_the_first_five_quoted() -> None:
    many = [Diagnostic(file="a.ts", line=n, col=2, code="TS1", message=f"m{n}") for n in range(1, 7)]
    out = "; to leave a out: comity scripts disable a"
    assert diagnostics_reason(many[:1]) == f"1 diagnostic: TS1 a.ts(1,2): m1{out}"
    assert diagnostics_reason(many[:5]).endswith(f"TS1 a.ts(5,2): m5{out}")
    assert diagnostics_reason(many).endswith(f"TS1 a.ts(5,2): m5; and 1 more{out}")
    assert diagnostics_reason([Diagnostic(code="TS5", message="m")]) == "1 diagnostic: TS5: m"


def test_way_out_is_told_of_scripts_of_the_catalogue_also_behind_long_messages() -> None:
    own = Diagnostic(file="inline-a.ts", line=1, col=2, code="TS1", message="m")
    assert diagnostics_reason([own]) == "1 diagnostic: TS1 inline-a.ts(1,2): m"
    long = [Diagnostic(file=f"{'a' * 64}.ts", line=9999, col=999, code="TS12345", message="m" * 4000)] * 9
    assert step_reason("compile", diagnostics_reason(long)).endswith(f"comity scripts disable {'a' * 64}")


# --- scripts


def compiled(*scripts: dict[str, Any], **change: Any) -> CompileAnswer:
    """The compiler's answer for these."""
    out = [
        one | {"source": f"js {one['source']}", "sha256": sha256_of(f"js {one['source']}")} | change for one in scripts
    ]
    return CompileAnswer.model_validate({"typescript": "7", "hostTypes": "1", "cached": False, "scripts": out})


def pinned(*scripts: dict[str, Any]) -> list[PinnedScript]:
    """The ledger's list."""
    return [PinnedScript.model_validate(one) for one in scripts]


def test_scripts_are_split_by_phase_in_order_and_joined_by_hash() -> None:
    scripts = [script("one"), script("two", "preload"), script("three")]
    joined = join(pinned(*scripts), compiled(*scripts))
    assert [one.id for one in joined.behaviors] == ["one", "three"]
    assert [one.id for one in joined.preload] == ["two"]
    assert joined.behaviors[0].options == {"a": 1}
    assert [(one.id, one.version, one.sha256) for one in joined.compiled.scripts] == [
        (name, 1, sha256_of("js scroll();")) for name in ("one", "two", "three")
    ]


def test_no_scripts_still_carry_the_compilers_versions() -> None:
    joined = join([], compiled())
    assert (joined.compiled.typescript, joined.compiled.host_types, joined.compiled.scripts) == ("7", "1", [])


@pytest.mark.parametrize(
    ("asked", "given", "said"),
    [
        ([script("one"), script("two")], compiled(script("one")), "1 scripts for 2"),
        ([script("one"), script("two")], compiled(script("two"), script("one")), "two v1 for one v1"),
        ([script("one")], compiled(script("one"), version=2), "one v2 for one v1"),
        ([script("one")], compiled(script("one"), options={"a": 2}), "one v1 for one v1"),
        ([script("one")], compiled(script("one"), sha256="0" * 64), "sha256 of one is not that of its JavaScript"),
    ],
)
def test_answer_for_other_scripts_is_refused(asked: list[dict[str, Any]], given: CompileAnswer, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        join(pinned(*asked), given)


# --- requests and results


def test_capture_request_carries_settings_scripts_and_correlation() -> None:
    wire = work_order([PAGE.url], attempt=3, scripts=[script()])
    wire["capture"] |= {"viewport": {"width": 800, "height": 600}, "acceptLanguage": "de"}
    level = WorkOrder.model_validate(wire)
    facts = level_facts(level, join(level.scripts, compiled(script())), run_id="r", pacing=Pacing())
    asked = capture_request(facts, PAGE, 2, ArtifactSink(url="https://ledger.test/api/sink/c1", token="1.x")).to_wire()
    assert asked["correlationId"] == f"{level.crawl_id}.p1.3.2"
    assert asked["viewport"] == {"width": 800, "height": 600}
    assert asked["acceptLanguage"] == "de"
    assert asked["behaviors"][0]["id"] == "autoscroll"
    assert asked["preload"] == []
    assert asked["labels"] == []
    assert "signing" not in asked
    with pytest.raises(ValueError, match=r"^url: "):
        capture_request(facts, PageWork("p1", "mailto:a@b"), 1, None)


def test_success_is_captured_with_its_manifest_and_links() -> None:
    result = captured_or_failed(PAGE, CaptureAnswer.model_validate(answer(ASKED)), [])
    assert (result.status, result.reason, result.task_id) == ("captured", None, "t-c1.p1.1.1")
    assert result.links_location == "file:///store/t-c1.p1.1.1.links.json"
    assert result.manifest_location == "file:///store/t-c1.p1.1.1.result.json"


def test_failure_keeps_task_manifest_error_and_reason() -> None:
    body = answer(ASKED, "failed", error="policy", message="no", manifest={"error": "disk\nfull"})
    result = captured_or_failed(PAGE, CaptureAnswer.model_validate(body), [])
    assert (result.status, result.reason, result.manifest_error) == ("failed", "failed: no", "disk full")


def test_results_without_a_task_say_why() -> None:
    assert failed(PAGE, "deadline 145000 ms passed", []).task_id is None
    assert skipped(PAGE, "robots-disallowed").skip_reason == "robots-disallowed"


def test_a_thousand_refusals_are_told_by_their_first_and_last() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    tries = [
        Try(try_=number, endpoint="http://a:1", submitted_at=now, finished_at=now, outcome="busy")
        for number in range(1, 1502)
    ]
    kept = told(tries)
    assert (len(kept), kept[0].try_, kept[499].try_, kept[500].try_, kept[-1].try_) == (1000, 1, 500, 1002, 1501)
    assert told(tries[:1000]) == tries[:1000]


# --- triggers

WANTED: dict[str, Any] = {
    "seeds": None,
    "from_targets": False,
    "limit": None,
    "scope": "same-origin",
    "max_depth": None,
    "max_pages": 30,
    "per_host_delay_ms": 2000,
    "host_parallelism": 4,
    "respect_robots": True,
    "include": None,
    "exclude": None,
    "sitemaps": False,
    "scripts": None,
    "extractors": None,
}


def test_trigger_asks_for_seeds_or_targets() -> None:
    seeds = wanted_crawl(**WANTED | {"seeds": ["http://a.test/"], "scripts": []}).to_wire()
    assert seeds["seeds"] == ["http://a.test/"]
    assert seeds["scripts"] == []
    assert "fromTargets" not in seeds
    pins = [{"id": "facts", "urlPattern": "/news/"}]
    assert wanted_crawl(**WANTED | {"seeds": ["http://a.test/"], "extractors": pins}).to_wire()["extractors"] == pins
    targets = wanted_crawl(**WANTED | {"from_targets": True, "limit": 5}).to_wire()
    assert targets["fromTargets"] == {"limit": 5}
    assert "scripts" not in targets


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "seeds: give at least one URL"),
        ({"seeds": []}, "seeds: give at least one URL"),
        ({"seeds": ["http://a.test/"], "from_targets": True}, "one of the two"),
        ({"seeds": ["http://a.test/"], "limit": 3}, "limit: goes only with from_targets"),
        ({"seeds": ["http://a.test/"], "max_pages": 0}, "max_pages: "),
        ({"seeds": ["http://a.test/"], "host_parallelism": 33}, "host_parallelism: "),
        ({"seeds": ["http://a.test/"], "include": [""]}, "include.0: "),
        ({"seeds": ["http://a.test/"], "extractors": [{"id": "facts"}]}, r"extractors\.0\.url"),
    ],
)
def test_trigger_refuses_naming_the_parameter(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wanted_crawl(**WANTED | change)


@pytest.mark.parametrize(
    ("code", "green"), [("no-enabled-target", True), ("crawl-in-the-way", False), ("key-reused", False), (None, False)]
)
def test_only_no_enabled_target_is_nothing_to_do(code: str | None, green: bool) -> None:
    assert nothing_to_do(code) is green


def crawl(state: str, **more: Any) -> CrawlView:
    """A crawl in a state, also in one that the contract does not know."""
    return CrawlView.model_construct(**dict(CrawlView.model_validate(crawl_view("running", **more))) | {"state": state})


def test_end_of_a_crawl_is_green_red_or_not_yet() -> None:
    assert end_of(crawl("running")) is None
    ended = end_of(crawl("succeeded", stopReason="max_pages"))
    assert ended is not None
    assert (ended.state, ended.said.split(" ", 2)[2]) == (
        "succeeded",
        "succeeded: 1 captured, 0 failed, 0 skipped, 0 not visited; max_pages",
    )
    died = {"depth": 0, "attempt": 1, "runId": "r", "ended": "crashed", "reason": "x", "at": "2030-01-01T00:00:00Z"}
    ended = end_of(crawl("succeeded", attempts=[died]))
    assert ended is not None
    assert ended.said.endswith("; resumed after 1 run that died")
    ended = end_of(crawl("failed", error="[compile] 1 diagnostic"))
    assert ended is not None
    assert "[compile] 1 diagnostic" in ended.said


def test_unknown_state_is_refused() -> None:
    with pytest.raises(ValueError, match="does not know: 'paused'"):
        end_of(crawl("paused"))
