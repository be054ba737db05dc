"""Whatever is posted, the ledger answers with a refusal or with what was asked for, never with a failure."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comity.contract.ledger import StartCrawl
from tests.integration.ledger.desk import Desk

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
URLS = st.sampled_from(["http://127.0.0.2/", "https://[::1]/x#y", "http://bücher.example/ü"]) | st.text()
SCRIPTS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["autoscroll", "inline-x"]) | st.text(),
        "version": st.integers(),
        "name": st.from_regex(r"[a-z0-9-]{1,5}", fullmatch=True) | st.text(),
        "phase": st.sampled_from(["preload", "behavior"]) | JSON,
        "source": st.text(),
        "options": st.dictionaries(st.text(), JSON, max_size=3),
    },
)
LIKELY = {
    "seeds": st.lists(URLS, max_size=4),
    "fromTargets": st.fixed_dictionaries({}, optional={"limit": st.integers()}),
    "scope": st.sampled_from(["same-origin", "same-host", "same-domain", "prefix"]),
    "include": st.lists(st.sampled_from(["/a", "(", "(?i)x$", "a{1001}"]) | st.text(), max_size=3),
    "exclude": st.lists(st.text(), max_size=3),
    "maxDepth": st.integers(-1, 11),
    "maxPages": st.integers(),
    "scripts": st.lists(st.text() | SCRIPTS | JSON, max_size=3),
    "capture": st.dictionaries(st.sampled_from(["viewport", "formats", "loadWait", "urlPolicies", "x"]), JSON),
}
NAMES = [field.alias or name for name, field in StartCrawl.model_fields.items()]
ORDERS = st.fixed_dictionaries({}, optional=LIKELY) | st.dictionaries(st.sampled_from(NAMES), JSON) | JSON
PER_REQUEST = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def _check(desk: Desk, content: bytes) -> None:
    answer = desk.client.post("/api/crawls", content=content)
    assert answer.status_code in (202, 400, 409), answer.text
    body = answer.json()
    if answer.status_code == 202:
        desk.crawl(body["crawlId"])
        desk.get(f"/api/crawls/{body['crawlId']}/levels/0")
        desk.post(f"/api/crawls/{body['crawlId']}/cancel")
    else:
        assert body["error"]
        assert answer.status_code == 409 or body["fields"]


@PER_REQUEST
@given(order=ORDERS)
def test_any_json_gets_an_answer(shared_desk: Desk, order: Any) -> None:
    _check(shared_desk, json.dumps(order).encode())


@PER_REQUEST
@given(content=st.binary(max_size=200))
def test_any_bytes_get_an_answer(shared_desk: Desk, content: bytes) -> None:
    _check(shared_desk, content)


HOSTS = st.sampled_from(["127.0.0.2", "a.test:8080", "[::1]", "A.test", "a test", "\ud800"]) | st.text()
NUMBERS = st.integers() | st.sampled_from([-1, 0, 600_000, 600_001, 2**31, 2**63]) | JSON
LEASES = st.fixed_dictionaries(
    {},
    optional={
        "host": HOSTS,
        "holder": st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from(["crawl", "watch"]) | JSON,
                "crawlId": st.sampled_from(["c1"]) | st.text(),
                "depth": NUMBERS,
                "attempt": NUMBERS,
                "runId": JSON,
            },
        ),
        "delayMs": NUMBERS,
        "crawlDelayMs": NUMBERS,
        "leaseId": st.sampled_from(["l1"]) | st.text(),
        "retryAfterMs": NUMBERS,
        "visited": JSON,
    },
)


@settings(PER_REQUEST, max_examples=60)
@given(call=st.sampled_from(["lease", "renew", "release"]), body=LEASES | JSON)
def test_any_json_to_the_host_gate_gets_an_answer(shared_desk: Desk, call: str, body: Any) -> None:
    answer = shared_desk.client.post(f"/api/hosts/{call}", content=json.dumps(body).encode())
    assert answer.status_code in (400, 404), answer.text
    assert answer.json()["error"]
