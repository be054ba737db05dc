"""Tokens that are given away: shown once, kept as a hash, good until they are not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ledger.services.keep_tokens import USE_NOTED_EVERY
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at
from tests.unit.cli.test_command import comity


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def dated_desk(tmp_path: Path, prefect: FakePrefect, clock: ShiftedClock) -> Iterator[Desk]:
    """A fresh ledger whose clock goes as the test says."""
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as running:
        yield running


def _order(**change: Any) -> Json:
    order = {"subject": "alice", "role": "submitter", "organizations": ["acme", "beta"], "expiresInDays": 30}
    return {name: value for name, value in {**order, **change}.items() if value is not None}


def _as(desk: Desk, token: str, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.request(method, desk.url + path, headers=headers, json=body, trust_env=False)


def test_token_opens_what_was_said_and_is_kept_as_a_hash_alone(
    dated_desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    answer = dated_desk.client.post("/api/tokens", json=_order())
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    token, view = answer.json()["token"], answer.json()["view"]
    assert len(token) >= 43
    assert _as(dated_desk, token, "GET", "/api/me").json() == {
        "subject": "alice",
        "organizations": ["acme", "beta"],
        "canSubmit": True,
    }
    listed = dated_desk.get("/api/tokens")["tokens"]
    assert [{**row, "lastUsedAt": None} for row in listed] == [view]
    assert listed[0]["lastUsedAt"]
    assert token not in json.dumps(listed)
    assert token not in json.dumps([str(record.__dict__) for record in caplog.records])
    for file in dated_desk.data.rglob("*"):
        assert not file.is_file() or token.encode() not in file.read_bytes(), file


def test_expired_and_revoked_tokens_are_answered_like_unknown_ones(dated_desk: Desk, clock: ShiftedClock) -> None:
    unknown = _as(dated_desk, "x" * 43, "GET", "/api/me")
    first, second = (dated_desk.post("/api/tokens", _order(), 201) for _ in range(2))
    for _ in range(2):
        assert dated_desk.client.delete(f"/api/tokens/{first['view']['id']}").status_code == 204
    clock.advance(30 * 86_400 - 5)
    assert _as(dated_desk, second["token"], "GET", "/api/me").status_code == 200
    clock.advance(6)
    for token in (first["token"], second["token"], second["token"] + "x"):
        answer = _as(dated_desk, token, "GET", "/api/me")
        assert (answer.status_code, answer.content) == (unknown.status_code, unknown.content)
    assert unknown.status_code == 401
    states = {row["id"]: row["revokedAt"] for row in dated_desk.get("/api/tokens")["tokens"]}
    assert states[first["view"]["id"]] is not None
    assert states[second["view"]["id"]] is None


def test_last_use_is_noted_once_a_minute(dated_desk: Desk, clock: ShiftedClock) -> None:
    token = dated_desk.post("/api/tokens", _order(), 201)["token"]
    noted = []
    for seconds in (0, 1, USE_NOTED_EVERY.total_seconds()):
        clock.advance(seconds)
        _as(dated_desk, token, "GET", "/api/me")
        noted.append(dated_desk.get("/api/tokens")["tokens"][0]["lastUsedAt"])
    assert noted[0] == noted[1] < noted[2]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"subject": None}, "subject"),
        ({"subject": "a lice"}, "subject"),
        ({"subject": "oidc:alice"}, "subject"),
        ({"subject": "operator"}, "subject"),
        ({"role": "owner"}, "role"),
        ({"role": None}, "role"),
        ({"organizations": []}, "organizations"),
        ({"organizations": ["a/b"]}, "organizations.0"),
        ({"organizations": ["x" * 65]}, "organizations.0"),
        ({"organizations": [f"o{number}" for number in range(101)]}, "organizations"),
        ({"expiresInDays": None}, "expiresInDays"),
        ({"expiresInDays": 0}, "expiresInDays"),
        ({"expiresInDays": 3651}, "expiresInDays"),
        ({"expiresInDays": True}, "expiresInDays"),
        ({"role": "flows"}, "organizations"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_token_that_makes_no_sense_is_refused_by_its_field(
    shared_desk: Desk, change: dict[str, Any], field: str
) -> None:
    refusal = shared_desk.post("/api/tokens", _order(**change), 400)
    assert [problem["field"] for problem in refusal["fields"]] == [field]
    assert shared_desk.get("/api/tokens")["tokens"] == []


def test_admin_gives_away_no_more_than_it_has(dated_desk: Desk) -> None:
    admin = dated_desk.post("/api/tokens", _order(subject="root", role="admin", organizations=["acme"]), 201)["token"]
    for order, field in (
        (_order(), "organizations"),
        (_order(organizations=["beta"]), "organizations"),
        (_order(role="flows", organizations=None), "role"),
    ):
        refusal = _as(dated_desk, admin, "POST", "/api/tokens", order)
        assert refusal.status_code == 400
        assert [problem["field"] for problem in refusal.json()["fields"]] == [field]
    own = _as(dated_desk, admin, "POST", "/api/tokens", _order(organizations=["acme"])).json()["view"]
    both = dated_desk.post("/api/tokens", _order(), 201)["view"]
    flows = dated_desk.post("/api/tokens", _order(role="flows", organizations=None), 201)
    listed = {row["id"] for row in _as(dated_desk, admin, "GET", "/api/tokens").json()["tokens"]}
    assert own["id"] in listed
    for wider in (both, flows["view"]):
        assert wider["id"] not in listed
        assert _as(dated_desk, admin, "DELETE", f"/api/tokens/{wider['id']}").status_code == 404
    assert _as(dated_desk, admin, "DELETE", f"/api/tokens/{own['id']}").status_code == 204
    assert _as(dated_desk, flows["token"], "GET", "/api/me").json()["organizations"] == []


@pytest.mark.parametrize("token", ["", "x", "x" * 9000, "名前", "a.b.c", "..", "\udcff"])
def test_malformed_token_is_answered_like_any_other(shared_desk: Desk, token: str) -> None:
    headers = {b"authorization": b"Bearer" + (b" " if token else b"") + token.encode("utf-8", "surrogateescape")}
    answer = httpx.get(shared_desk.url + "/api/me", headers=headers, trust_env=False)
    assert answer.status_code == 401
    assert answer.content == httpx.get(shared_desk.url + "/api/me", trust_env=False).content


def test_command_makes_lists_and_revokes(dated_desk: Desk, tmp_path: Path) -> None:
    elsewhere = (
        *("--ledger-url", dated_desk.url),
        *("--token-file", str(dated_desk.data / "tokens" / "operator")),
    )
    made = comity(
        *("token", "create", "alice", "--role", "viewer", "--organization", "acme", "--days", "7"),
        *elsewhere,
        cwd=tmp_path,
    )
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    assert "not shown again" in made.stderr
    assert token not in made.stderr
    assert _as(dated_desk, token, "GET", "/api/me").json()["organizations"] == ["acme"]
    listed = comity("token", "list", *elsewhere, cwd=tmp_path)
    assert "viewer of acme" in listed.stdout
    assert token not in listed.stdout
    ident = listed.stdout.split()[0]
    assert comity("token", "revoke", ident, *elsewhere, cwd=tmp_path).returncode == 0
    assert _as(dated_desk, token, "GET", "/api/me").status_code == 401
    again = comity("token", "revoke", "k0", *elsewhere, cwd=tmp_path)
    assert (again.returncode, len(again.stderr.splitlines())) == (2, 1)
    reserved = comity("token", "create", "flows", "--role", "flows", *elsewhere, cwd=tmp_path)
    assert (reserved.returncode, len(reserved.stderr.splitlines())) == (2, 1)
    assert "NAME" in reserved.stderr
