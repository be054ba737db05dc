"""Ledger and compiler clients against real HTTP: what they send, and how each refusal is told."""

from collections.abc import Callable, Iterator

import pytest

from blocks.clients.compiler import CompilerClient
from blocks.clients.errors import (
    AnswerUnreadable,
    CompileRejected,
    ConnectionLost,
    CrawlInTheWayError,
    DeadlinePassed,
    ServiceError,
    ServiceRefused,
    ServiceUnreachable,
)
from blocks.clients.ledger import LedgerClient
from comity.contract.compiler import CompileRequest
from comity.contract.ledger import AddTargets, ChangeTarget, PageResult, ReportResults, StartCrawl
from comity.contract.scripts import PinnedScript
from tests.fakes.compiler import DIAGNOSTICS, FakeCompiler
from tests.fakes.http_server import Asked, FakeServer, Reply
from tests.fakes.ledger import CRAWL, TOKEN, FakeLedger, crawl_view, script, work_order
from tests.fakes.ports import dead_url

START = StartCrawl(seeds=["http://a.test/"])


@pytest.fixture
def fake() -> Iterator[FakeLedger]:
    """A ledger."""
    with FakeLedger(work_order(["http://a.test/"])) as ledger:
        yield ledger


@pytest.fixture
def client(fake: FakeLedger) -> Iterator[LedgerClient]:
    """Its client."""
    with LedgerClient(fake.url, TOKEN, "", timeout_ms=1_000) as made:
        yield made


def test_work_order_is_asked_for_with_attempt_and_run(fake: FakeLedger, client: LedgerClient) -> None:
    order = client.work_order(CRAWL, 0, attempt=1, run_id="r1")
    assert order.frontier[0].url == "http://a.test/"
    [asked] = fake.asked
    assert (asked.path, asked.query) == (f"/api/crawls/{CRAWL}/levels/0", "attempt=1&runId=r1")


def test_results_travel_in_wire_names_without_absent_fields(fake: FakeLedger, client: LedgerClient) -> None:
    result = PageResult(page_id="p0", url="http://a.test/", status="skipped", skip_reason="robots-disallowed")
    assert client.results(CRAWL, ReportResults(depth=0, attempt=1, run_id="r1", results=[result])).stop is False
    assert fake.asked[0].body == {
        "depth": 0,
        "attempt": 1,
        "runId": "r1",
        "results": [
            {
                "pageId": "p0",
                "url": "http://a.test/",
                "status": "skipped",
                "skipReason": "robots-disallowed",
                "tries": [],
            }
        ],
    }


def test_start_carries_the_idempotency_key(fake: FakeLedger, client: LedgerClient) -> None:
    fake.answers["POST /crawls"] = lambda asked: Reply(202, {"crawlId": CRAWL, "later": "key"})
    assert client.start_crawl(START, idempotency_key="k1").crawl_id == CRAWL
    assert fake.asked[0].headers["idempotency-key"] == "k1"


def test_start_names_the_crawl_in_the_way(fake: FakeLedger, client: LedgerClient) -> None:
    body = {
        "error": "crawl c9 runs",
        "code": "crawl-in-the-way",
        "crawlId": "c9",
        "startedAt": "2030-01-01T00:00:00Z",
    }
    fake.answers["POST /crawls"] = lambda asked: Reply(409, body)
    with pytest.raises(CrawlInTheWayError, match="wait until crawl c9 ends, or cancel it") as caught:
        client.start_crawl(START)
    assert caught.value.crawl.crawl_id == "c9"


@pytest.mark.parametrize(("code", "known"), [("no-enabled-target", "no-enabled-target"), (None, None), (7, None)])
def test_refusal_carries_the_code_where_there_is_one(
    fake: FakeLedger, client: LedgerClient, code: object, known: str | None
) -> None:
    fake.answers["POST /crawls"] = lambda asked: Reply(409, {"error": "not now", "code": code})
    with pytest.raises(ServiceRefused, match="409: not now") as caught:
        client.start_crawl(START)
    assert caught.value.code == known
    assert not isinstance(caught.value, CrawlInTheWayError)


def test_bad_input_names_its_fields(fake: FakeLedger, client: LedgerClient) -> None:
    body = {"error": "bad input", "fields": [{"field": "seeds.0", "message": "has no host"}]}
    fake.answers["POST /crawls"] = lambda asked: Reply(400, body)
    with pytest.raises(ServiceRefused, match=r"400: bad input \(seeds\.0: has no host\)") as caught:
        client.start_crawl(START)
    assert caught.value.fields[0].field == "seeds.0"


def test_targets_are_listed_added_changed_and_removed(fake: FakeLedger, client: LedgerClient) -> None:
    target = {"id": "t1", "url": "http://a.test/", "enabled": True, "labels": [], "addedAt": "2030-01-01T00:00:00Z"}
    fake.answers |= {
        "POST /targets": lambda asked: Reply(201, {"targets": [target], "added": 1}),
        "GET /targets": lambda asked: Reply(200, {"targets": [target]}),
        "PATCH /t1": lambda asked: Reply(200, target | {"enabled": False}),
        "DELETE /t1": lambda asked: Reply(204, text=""),
    }
    assert client.add_targets(AddTargets(urls=["http://a.test/"])).targets[0].id == "t1"
    assert client.targets().targets[0].enabled
    assert client.targets(labels=["a b", "c"], enabled=True).targets
    assert client.change_target("t1", ChangeTarget(enabled=False)).enabled is False
    client.remove_target("t1")
    assert [asked.method for asked in fake.asked] == ["POST", "GET", "GET", "PATCH", "DELETE"]
    assert [asked.query for asked in fake.asked[1:3]] == ["", "label=a+b&label=c&enabled=true"]


def test_pages_are_asked_for_by_depth_and_state(fake: FakeLedger, client: LedgerClient) -> None:
    fake.answers["GET /pages"] = lambda asked: Reply(200, {"pages": []})
    client.pages(CRAWL, depth=1, state="failed")
    client.pages(CRAWL)
    assert [asked.query for asked in fake.asked] == ["depth=1&state=failed", ""]


def test_state_that_the_contract_does_not_know_is_unreadable(fake: FakeLedger, client: LedgerClient) -> None:
    fake.answers[f"GET /{CRAWL}"] = lambda asked: Reply(200, crawl_view("paused"))
    with pytest.raises(AnswerUnreadable, match="state: Input should be 'running', 'succeeded', 'failed' or"):
        client.crawl(CRAWL)


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (Reply(401, {"error": "no token"}), ServiceRefused, "401: no token; check the token for the ledger"),
        (Reply(404, {"error": "no such crawl"}), ServiceRefused, "404: no such crawl; check the id"),
        (Reply(500, text="<html>trace</html>"), ServiceRefused, "500: <html>trace</html>; see the ledger's log"),
        (Reply(501, {"error": "not here"}), ServiceRefused, "refused with 501: not here"),
        (Reply(302, {}, {"location": "http://elsewhere/"}), ServiceRefused, "refused with 302"),
        (Reply(200, text="<html>"), AnswerUnreadable, "Invalid JSON"),
        (Reply(200, wait=3), DeadlinePassed, "deadline 1000 ms passed"),
        (Reply(cut=True), ConnectionLost, "connection lost in GET /api/me"),
    ],
)
def test_every_failure_has_its_own_name(
    fake: FakeLedger, client: LedgerClient, reply: Reply, kind: type[ServiceError], said: str
) -> None:
    fake.answers["GET /me"] = lambda asked: reply
    with pytest.raises(kind) as caught:
        client.me()
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"ledger {fake.url}: ")
    assert "\n" not in str(caught.value)


def test_dead_service_is_unreachable_and_named() -> None:
    url = dead_url()
    with LedgerClient(url, TOKEN, "") as client, pytest.raises(ServiceUnreachable, match=f"ledger {url}: .*refused"):
        client.me()


def test_error_never_shows_the_token(fake: FakeLedger) -> None:
    with LedgerClient(fake.url, "a-wrong-token", "") as client, pytest.raises(ServiceRefused) as caught:
        client.me()
    assert "a-wrong-token" not in repr(caught.value) + str(caught.value)


@pytest.mark.parametrize("make", [LedgerClient, CompilerClient])
def test_client_refuses_address_and_ca_that_do_not_fit(make: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="old host:port form"):
        make("127.0.0.1:8700", "", "")
    with pytest.raises(ValueError, match="tls_ca_pem: is empty"):
        make("https://127.0.0.1:8700", "", "")


# --- compiler


def _request() -> CompileRequest:
    return CompileRequest(scripts=[PinnedScript.model_validate(script())])


def test_compile_returns_the_list_in_order() -> None:
    with FakeCompiler() as fake, CompilerClient(fake.url, "", "") as client:
        assert client.health().typescript == "7.0.0"
        assert client.compile(_request()).scripts[0].source == "// compiled\nscroll();"
        assert client.compile(CompileRequest(scripts=[])).scripts == []
    assert fake.asked[1].body["scripts"][0]["options"] == {"a": 1}


def test_compile_that_fails_carries_its_diagnostics() -> None:
    with (
        FakeCompiler(DIAGNOSTICS) as fake,
        CompilerClient(fake.url, "", "") as client,
        pytest.raises(CompileRejected, match="422 CompileFailed") as caught,
    ):
        client.compile(_request())
    assert len(caught.value.failed.diagnostics) == 7


def test_compile_refused_for_its_hash_is_a_plain_refusal() -> None:
    def mismatch(asked: Asked) -> Reply:
        return Reply(409, {"message": "sha256 differs", "id": "autoscroll"}, {"x-amzn-errortype": "SourceHashMismatch"})

    refused = pytest.raises(ServiceRefused, match="409 SourceHashMismatch: sha256 differs")
    with FakeServer(mismatch) as fake, CompilerClient(fake.url, "", "") as client, refused:
        client.compile(_request())
