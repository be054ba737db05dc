"""A level run by a real Prefect against a scripted ledger, scripted capture servers and a scripted compiler."""

import threading
import time
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State

from flows.crawl_level import crawl_level
from flows.level_resources import _OPEN
from tests.fakes.compiler import DIAGNOSTICS
from tests.fakes.endpoints import FakeEndpoint, busy, failure, slow
from tests.fakes.http_server import Asked, FakeServer, Reply
from tests.fakes.ledger import CRAWL, TOKEN, script, work_order
from tests.integration.flows.conftest import Parts

pytestmark = pytest.mark.prefect


def run(depth: int = 0, attempt: int = 1) -> State[Any]:
    """The level's final state."""
    return crawl_level(CRAWL, depth, attempt, return_state=True)


def test_level_of_several_hosts_is_captured_reported_and_closed(parts: Parts) -> None:
    urls = [f"http://h{host}.test/{page}" for host in range(3) for page in range(2)]
    parts.ledger.order = work_order(urls, scripts=[script()])

    state = run()

    assert state.is_completed(), state.message
    assert state.message == "6 captured, 0 failed, 0 skipped; the crawl ends: completed"
    assert sorted(one.url for one in parts.ledger.results) == urls
    assert {one.status for one in parts.ledger.results} == {"captured"}
    [closing] = parts.ledger.closings
    assert closing.results == []
    [compiled] = closing.compiled.scripts
    asked = parts.endpoints[0].captures + parts.endpoints[1].captures
    assert [one.body["behaviors"][0]["sha256"] for one in asked] == [compiled.sha256] * 6
    assert len(parts.endpoints[0].captures) == len(parts.endpoints[1].captures) == 3
    assert parts.ledger.failures == []
    assert _OPEN == {}


def test_prefect_keeps_no_token_of_ours(parts: Parts) -> None:
    sink = {"url": "http://127.0.0.1:1/api/sink/c1", "token": "1893456000.sink-secret"}
    parts.ledger.order = work_order(["http://a.test/1"], artifactSink=sink)
    state = run()
    assert state.is_completed(), state.message
    [asked] = parts.endpoints[0].captures + parts.endpoints[1].captures
    assert asked.body["artifactSink"] == sink
    run_id = str(state.state_details.flow_run_id)
    kept = ""
    with get_client(sync_client=True) as client:
        of_run = {"id": {"any_": [run_id]}}
        mine = {"flow_run_id": {"any_": [run_id]}}
        for answer in (
            client.request("POST", "/flow_runs/filter", json={"flow_runs": of_run}),
            client.request("POST", "/task_runs/filter", json={"flow_runs": of_run}),
            client.request("POST", "/logs/filter", json={"logs": mine}),
            client.request("POST", "/artifacts/filter", json={"artifacts": mine}),
        ):
            kept += answer.text
    assert run_id in kept
    assert "sink-secret" not in kept
    assert TOKEN not in kept


def test_plan_is_shown_as_a_table_with_hosts_and_skips(parts: Parts) -> None:
    parts.ledger.order = work_order(["http://a.test/1", "http://b.test/1"])
    state = run()

    with get_client(sync_client=True) as client:
        key = f"plan-{CRAWL}-0"
        artifacts = client.request("POST", "/artifacts/filter", json={"artifacts": {"key": {"any_": [key]}}}).json()

    mine = [one for one in artifacts if one["flow_run_id"] == str(state.state_details.flow_run_id)]
    assert len(mine) == 1
    assert "a.test" in mine[0]["data"]
    assert "2 pages on 2 hosts, 2 at a time" in mine[0]["description"]


def test_robots_are_asked_once_forbidden_pages_skipped_and_its_delay_kept(parts: Parts) -> None:
    rules = "User-agent: comity\nDisallow: /private\nCrawl-delay: 0.7\n"
    with FakeServer(lambda asked: Reply(text=rules, headers={"content-type": "text/plain"})) as site:
        urls = [f"{site.url}/one", f"{site.url}/private/x", f"{site.url}/two"]
        parts.ledger.order = work_order(urls, respect_robots=True, delay_ms=10)
        state = run()
        assert [one.path for one in site.asked] == ["/robots.txt"]

    assert state.is_completed(), state.message
    told = {one.url: one for one in parts.ledger.results}
    assert [told[url].status for url in urls] == ["captured", "skipped", "captured"]
    assert (told[urls[1]].skip_reason or "").startswith("robots-disallowed: ")
    first, second = sorted(one.at for endpoint in parts.endpoints for one in endpoint.captures)
    assert second - first >= 0.7


def test_sitemaps_that_robots_lists_are_read_before_the_pages(parts: Parts) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/robots.txt":
            return Reply(text="User-agent: comity\nDisallow: /private\nSitemap: /map.xml\nCrawl-delay: 0.3\n")
        return Reply(text="<urlset><url><loc>http://a.test/1</loc></url></urlset>")

    with FakeServer(answer) as site:
        parts.ledger.order = work_order([f"{site.url}/one"], respect_robots=True, sitemaps=True)
        state = run()
        asked = [(one.path, one.at) for one in site.asked]
    assert state.is_completed(), state.message
    assert [path for path, _ in asked] == ["/robots.txt", "/map.xml"]
    assert [(one.url, one.urls) for one in parts.ledger.sitemaps] == [(f"{site.url}/map.xml", ["http://a.test/1"])]
    [captured] = [one.at for endpoint in parts.endpoints for one in endpoint.captures]
    assert captured - asked[1][1] >= 0.3


def test_robots_are_not_asked_where_they_are_not_respected(parts: Parts) -> None:
    with FakeServer(lambda asked: Reply(text="User-agent: *\nDisallow: /\n")) as site:
        parts.ledger.order = work_order([f"{site.url}/"], respect_robots=False)
        assert run().is_completed()
        assert site.asked == []
    assert [one.status for one in parts.ledger.results] == ["captured"]


def test_host_whose_robots_cannot_be_reached_is_skipped_with_the_reason(parts: Parts) -> None:
    with FakeServer(lambda asked: Reply(500)) as site:
        parts.ledger.order = work_order([f"{site.url}/"], respect_robots=True)
        assert run().is_completed()
    [result] = parts.ledger.results
    assert (result.skip_reason or "").startswith("robots-unreachable: ")


def test_failed_page_is_a_result_and_no_failure_of_the_level(parts: Parts) -> None:
    with FakeEndpoint([failure("policy", message="a denied WebSocket was opened")]) as endpoint:
        parts.write_blocks(capture_urls=[endpoint.url])
        parts.ledger.order = work_order(["http://a.test/"])
        state = run()

    assert state.is_completed(), state.message
    [result] = parts.ledger.results
    assert (result.status, result.reason) == ("failed", "failed: a denied WebSocket was opened")


def test_compile_failure_ends_the_level_before_any_page_with_the_first_five_diagnostics(parts: Parts) -> None:
    parts.ledger.order = work_order(["http://a.test/"], scripts=[script()])
    parts.compiler.refuse_with = DIAGNOSTICS

    state = run()

    assert state.is_failed()
    [told] = parts.ledger.failures
    assert told.outcome == "failed"
    assert told.reason == state.message
    assert told.reason.startswith("[compile] 7 diagnostics: TS2330 autoscroll.ts(4,5): problem 0; ")
    assert "problem 4" in told.reason
    assert "problem 5" not in told.reason
    assert told.reason.endswith("; and 2 more; to leave autoscroll out: comity scripts disable autoscroll")
    assert parts.endpoints[0].captures + parts.endpoints[1].captures == []


def test_dead_compiler_ends_the_level_naming_step_and_address(parts: Parts) -> None:
    parts.ledger.order = work_order(["http://a.test/"])
    parts.compiler.close()

    assert run().is_failed()

    [told] = parts.ledger.failures
    assert told.reason.startswith(f"[compile] script compiler {parts.compiler.url}: ")


def test_stale_attempt_ends_quietly_and_asks_no_robots(parts: Parts) -> None:
    with FakeServer(lambda asked: Reply()) as site:
        parts.ledger.order = work_order([f"{site.url}/"], respect_robots=True, attempt=2)
        state = run(attempt=1)
        assert site.asked == []

    assert state.is_completed()
    assert state.name == "Stale"
    assert "stale attempt 1" in (state.message or "")
    assert parts.ledger.failures == []
    assert parts.ledger.closings == []


def test_dead_endpoints_fail_the_level_quoting_each(parts: Parts) -> None:
    for endpoint in parts.endpoints:
        endpoint.close()
    parts.ledger.order = work_order([f"http://h{host}.test/" for host in range(3)])

    state = run()

    assert state.is_failed()
    [told] = parts.ledger.failures
    assert told.reason.startswith("[crawl_host] ")
    assert "no capture server can be reached" in told.reason
    assert all(endpoint.url in told.reason for endpoint in parts.endpoints)
    assert parts.ledger.closings == []


def test_failure_of_one_host_ends_the_waits_of_the_others_and_finishes_what_is_in_flight(parts: Parts) -> None:
    taken: list[str] = []

    def take(asked: Asked) -> Reply:
        """Refuse the first host's result; the other's is still in flight then."""
        for result in asked.body["results"]:
            if "bad.test" in result["url"]:
                return Reply(400, {"error": "bad", "fields": [{"field": "results.0", "message": "no"}]})
            taken.append(result["url"])
        return Reply(body={"stop": False})

    parts.ledger.answers["POST /results"] = take
    with FakeEndpoint([slow(0.3)]) as bad, FakeEndpoint([slow(1.5)]) as good:
        parts.write_blocks(capture_urls=[bad.url, good.url])
        parts.ledger.order = work_order(
            ["http://bad.test/1", "http://good.test/1", "http://good.test/2"], delay_ms=60_000
        )
        started = time.monotonic()
        state = run()
        assert time.monotonic() - started < 55, "the other host's delay was waited for"
        assert good.hung_up == []

    assert state.is_failed()
    assert taken == ["http://good.test/1"]
    [told] = parts.ledger.failures
    assert told.reason.startswith("[crawl_host] bad.test: ledger ")
    assert "400" in told.reason
    assert parts.ledger.of("POST", "/index")


def test_missing_block_fails_the_level_naming_block_and_command(parts: Parts) -> None:
    with get_client(sync_client=True) as client:
        block = client.read_block_document_by_name("comity", "script-compiler")
        client.request("DELETE", "/block_documents/{id}", path_params={"id": block.id})

    state = run()

    assert state.is_failed()
    assert state.message == parts.ledger.failures[0].reason
    assert (state.message or "").startswith("[blocks] Block script-compiler/comity cannot be read: ")
    assert "comity blocks init" in (state.message or "")
    assert parts.ledger.of("GET", "/levels/0") == []


def test_ledger_that_takes_no_results_fails_the_level_with_its_last_answer(parts: Parts) -> None:
    parts.ledger.order = work_order(["http://a.test/"])
    parts.ledger.answers["POST /results"] = lambda asked: Reply(500, {"error": "the disk is full"})

    assert run().is_failed()

    [told] = parts.ledger.failures
    assert told.reason.startswith("[crawl_host] a.test: 1 page result not taken within 4 s: ledger ")
    assert "the disk is full" in told.reason


def test_index_that_fails_is_a_warning(parts: Parts) -> None:
    parts.ledger.order = work_order(["http://a.test/"])
    parts.ledger.answers["POST /index"] = lambda asked: Reply(500, {"error": "no"})

    assert run().is_completed()


def test_ledger_that_says_stop_ends_the_run_and_hangs_up_within_seconds(parts: Parts) -> None:
    with FakeEndpoint([slow(60)]) as endpoint:
        parts.write_blocks(capture_urls=[endpoint.url])
        parts.ledger.order = work_order([f"http://a.test/{page}" for page in range(3)])

        def stop_soon() -> None:
            while not endpoint.captures:
                time.sleep(0.01)
            parts.ledger.stop = "the crawl was cancelled"

        threading.Thread(target=stop_soon, daemon=True).start()
        started = time.monotonic()
        state = run()
        assert time.monotonic() - started < 55, "the page was waited for"
        assert len(endpoint.hung_up) == 1

    assert state.is_cancelled()
    assert "the crawl was cancelled" in (state.message or "")
    assert parts.ledger.results == []


def test_heartbeat_speaks_while_a_host_waits(parts: Parts) -> None:
    parts.ledger.order = work_order(["http://a.test/1", "http://a.test/2"], delay_ms=1500)

    assert run().is_completed()

    assert parts.ledger.beats >= 3
    first, second = (one.at for endpoint in parts.endpoints for one in endpoint.captures)
    assert abs(second - first) >= 1.5


def test_busy_endpoints_hold_hosts_and_lose_no_page(parts: Parts) -> None:
    with FakeEndpoint([busy, busy, slow(0.05), busy, slow(0.05)]) as endpoint:
        parts.write_blocks(capture_urls=[endpoint.url])
        parts.ledger.order = work_order(["http://a.test/", "http://b.test/"])
        state = run()

    assert state.is_completed(), state.message
    assert {one.status for one in parts.ledger.results} == {"captured"}


@pytest.mark.parametrize(
    ("parameters", "named"),
    [({"crawl_id": CRAWL, "depth": "deep"}, "depth"), ({"crawl_id": CRAWL, "depth": 0, "attempt": None}, "attempt")],
)
def test_parameter_of_the_wrong_type_is_refused_by_name(parts: Parts, parameters: dict[str, Any], named: str) -> None:
    state = crawl_level(**parameters, return_state=True)
    assert state.is_failed()
    assert named in (state.message or "")
