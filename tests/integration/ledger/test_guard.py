"""Who gets in, and what nobody ever sees."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest

from ledger.app import create_app
from ledger.store.database import Tx
from tests.integration.ledger.desk import Desk

pytestmark = pytest.mark.one_database


def _calls(desk: Desk) -> Iterator[tuple[str, str]]:
    for path, methods in create_app(desk.parts).openapi()["paths"].items():
        for method in methods:
            yield method.upper(), re.sub(r"\{\w+\}", "1", path)


def test_every_call_needs_a_token(shared_desk: Desk) -> None:
    calls = [(method, path) for method, path in _calls(shared_desk) if path.startswith("/api")]
    assert len(calls) > 25
    for method, path in [*calls, ("GET", "/api"), ("GET", "/api/openapi.json"), ("GET", "/api/nothing")]:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": shared_desk.token},
            {"Authorization": f"Basic {shared_desk.token}"},
            {"Authorization": "Bearer"},
            {"Authorization": f"Bearer {shared_desk.token}x"},
        ):
            answer = httpx.request(method, shared_desk.url + path, headers=headers, trust_env=False)
            assert answer.status_code == 401, f"{method} {path} {headers}"
            assert answer.json()["error"]
            assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("subject", "organizations", "can_submit"),
    [("operator", ["default"], True), ("trigger", ["default"], True), ("flows", [], False)],
)
def test_health_needs_no_token_and_each_of_our_own_tokens_has_its_subject(
    shared_desk: Desk, subject: str, organizations: list[str], can_submit: bool
) -> None:
    assert httpx.get(shared_desk.url + "/healthz", trust_env=False).json()["ok"] is True
    token = (shared_desk.data / "tokens" / subject).read_text().strip()
    answer = httpx.get(shared_desk.url + "/api/me", headers={"Authorization": f"bearer {token}"}, trust_env=False)
    assert answer.json() == {"subject": subject, "organizations": organizations, "canSubmit": can_submit}


@pytest.mark.parametrize("path", ["/healthz", "/api/me"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", "127.0.0.2"])
def test_foreign_host_is_refused(shared_desk: Desk, path: str, host: str) -> None:
    assert shared_desk.client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80"])
def test_own_hosts_are_served(shared_desk: Desk, host: str) -> None:
    assert shared_desk.client.get("/api/me", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://[", ""])
def test_foreign_origin_is_refused_and_our_own_served(shared_desk: Desk, origin: str) -> None:
    assert shared_desk.client.get("/api/me", headers={"Origin": origin}).status_code == 421
    assert shared_desk.client.get("/api/me", headers={"Origin": shared_desk.url}).status_code == 200


def test_no_answer_opens_us_to_other_sites(shared_desk: Desk) -> None:
    answer = shared_desk.client.get("/api/me")
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nothing", 404),
        ("GET", "/", 404),
        ("GET", "/docs", 404),
        ("GET", "/api/crawls/", 404),
        ("DELETE", "/api/crawls", 405),
        ("GET", "/api/crawls/c1", 404),
        ("GET", "/api/crawls/c%00", 404),
        ("GET", "/api/crawls/%ff", 404),
        ("GET", "/api/crawls/c1/pages", 404),
        ("GET", "/api/crawls/c1/levels/0", 404),
        ("POST", "/api/crawls/c1/cancel", 404),
        ("DELETE", "/api/targets/t1", 404),
        ("DELETE", "/api/scripts/s1", 404),
        ("POST", "/api/crawls/c1/index", 404),
        ("GET", "/api/search", 400),
        ("POST", "/api/archives/a1/url", 404),
        ("PUT", "/api/sink/c1/file.wacz", 401),
    ],
)
def test_refusal_is_one_sentence_of_json(shared_desk: Desk, method: str, path: str, status: int) -> None:
    answer = shared_desk.client.request(method, path)
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/crawls/c1/pages?state=odd", "state"),
        ("/api/crawls/c1/pages?depth=-1", "depth"),
        ("/api/crawls/c1/pages?depth=x", "depth"),
        ("/api/crawls/c1/levels/x", "depth"),
        ("/api/crawls/c1/levels/0?attempt=0", "attempt"),
        ("/api/crawls/c1/levels/0?attempt=99999999999999999999", "attempt"),
        ("/api/crawls/c1/levels/0?runId=", "runId"),
    ],
)
def test_bad_parameter_is_named(shared_desk: Desk, path: str, field: str) -> None:
    assert [problem["field"] for problem in shared_desk.get(path, 400)["fields"]] == [field]


@pytest.mark.parametrize(
    ("path", "limit_bytes"),
    [("/api/crawls/c1/failed", 2 << 20), ("/api/crawls", 8 << 20), ("/api/crawls/c1/results", 16 << 20)],
)
def test_body_over_its_limit_is_refused(shared_desk: Desk, path: str, limit_bytes: int) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range((limit_bytes >> 16) + 1):
            yield b" " * (1 << 16)

    assert shared_desk.client.post(path, content=chunks()).status_code == 413
    assert shared_desk.client.post(path, content=b" " * limit_bytes).status_code == 400


def test_failure_of_ours_shows_a_log_id_and_no_trace(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_tx: Tx) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("ledger.services.keep_targets.targets.every", broken)
    answer = desk.client.get("/api/targets")
    assert answer.status_code == 500
    body = answer.json()
    assert set(body) <= {"error", "fields"}
    assert "secret" not in answer.text
    [record] = [record for record in caplog.records if record.getMessage() == "request_failed"]
    assert record.__dict__["facts"]["log_id"] in body["error"]


def test_tokens_are_the_owners_alone_and_never_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.post(f"/api/crawls/{desk.start()}/cancel")
    folder = desk.data / "tokens"
    assert folder.stat().st_mode & 0o777 == 0o700
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        token = file.read_text().strip()
        assert len(token) >= 43
        assert token not in json.dumps([str(record.__dict__) for record in caplog.records])


def test_schema_is_served_behind_the_token(shared_desk: Desk) -> None:
    document = shared_desk.get("/api/openapi.json")
    text = json.dumps(document)
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert {"StartCrawl", "CloseLevel", "WorkOrder"} <= named
    assert named <= set(document["components"]["schemas"])
