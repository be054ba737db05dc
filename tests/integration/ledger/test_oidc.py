"""Tokens of an OpenID Connect issuer, with its keys over TLS."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from ledger.errors import IssuerAway, SettingsRefused
from ledger.principal import Principal
from ledger.services.oidc import ASK_AGAIN_S, FRESH_S, OidcIssuer, OidcTerms
from tests.fakes.certificates import authority
from tests.fakes.http_server import Reply
from tests.fakes.oidc import AUDIENCE, FakeIssuer, new_key
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import ledger_at

pytestmark = pytest.mark.one_database

ALICE = Principal("oidc:alice", ("acme",), "submitter")


class Timer:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[FakeIssuer]:
    with FakeIssuer(tmp_path) as running:
        yield running


@pytest.fixture
def timer() -> Timer:
    return Timer()


def _terms(issuer: FakeIssuer, **change: Any) -> OidcTerms:
    given = {
        "issuer": issuer.url,
        "audience": AUDIENCE,
        "organizations_claim": "organizations",
        "role_claim": "role",
        "ca_file": issuer.ca_file,
        "timeout_s": 5.0,
    }
    return OidcTerms(**{**given, **change})


@pytest.fixture
def oidc(issuer: FakeIssuer, timer: Timer) -> OidcIssuer:
    return OidcIssuer(_terms(issuer), timer)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_good_token_is_its_holders_and_keys_are_asked_for_once(
    issuer: FakeIssuer, oidc: OidcIssuer, algorithm: str
) -> None:
    issuer.rotate(algorithm)
    for _ in range(3):
        assert await oidc.principal_of(issuer.token()) == ALICE
    assert issuer.asked_for_keys == 1


async def test_audience_may_be_one_of_several(issuer: FakeIssuer, oidc: OidcIssuer) -> None:
    assert await oidc.principal_of(issuer.token(aud=["other", AUDIENCE])) == ALICE


@pytest.mark.parametrize(
    "change",
    [
        {"lasts_s": -60},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": int(time.time()) + 3600},
        {"aud": "another"},
        {"aud": None},
        {"iss": "https://127.0.0.1:1"},
        {"iss": None},
        {"sub": None},
        {"organizations": []},
        {"role": "flows"},
        {"headers": {"kid": "unheard-of"}},
        {"headers": {"crit": ["exp"]}},
    ],
)
async def test_token_that_is_not_good_lets_nobody_in(
    issuer: FakeIssuer, oidc: OidcIssuer, change: dict[str, Any]
) -> None:
    assert await oidc.principal_of(issuer.token()) == ALICE
    assert await oidc.principal_of(issuer.token(**change)) is None


async def test_token_that_the_issuer_did_not_sign_lets_nobody_in(issuer: FakeIssuer, oidc: OidcIssuer) -> None:
    good = issuer.token()
    [(key_id, (key, _))] = issuer.keys.items()
    claims = jwt.decode(good, options={"verify_signature": False})
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    issuer.extra_keys = [
        {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode(), "kid": "shared", "alg": "HS256"},
        {"kty": "nonsense", "kid": "odd"},
        "no key at all",  # type: ignore[list-item]
    ]
    head, body, signature = good.split(".")
    other_body = base64.urlsafe_b64encode(json.dumps({**claims, "role": "admin"}).encode()).decode().rstrip("=")
    hs_head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": key_id}).encode()).decode().rstrip("=")
    forged = hmac.digest(public, f"{hs_head}.{body}".encode(), hashlib.sha256)
    for wrong in (
        jwt.encode(claims, new_key(), algorithm="ES256", headers={"kid": key_id}),
        jwt.encode(claims, "", algorithm="none", headers={"kid": key_id}),
        jwt.encode(claims, "s" * 32, algorithm="HS256", headers={"kid": "shared"}),
        f"{hs_head}.{body}.{base64.urlsafe_b64encode(forged).decode().rstrip('=')}",
        f"{head}.{other_body}.{signature}",
        f"{head}.{body}.",
        "a.b.c",
        "..",
        f"{head}.{base64.urlsafe_b64encode(b'[' * 5000).decode()}.{signature}",
    ):
        assert await oidc.principal_of(wrong) is None, wrong
    assert await oidc.principal_of(good) == ALICE


async def test_rotated_key_is_asked_for_and_made_up_key_ids_ask_once_in_a_while(
    issuer: FakeIssuer, oidc: OidcIssuer, timer: Timer
) -> None:
    old = issuer.token()
    assert await oidc.principal_of(old) == ALICE
    timer.now_s += ASK_AGAIN_S
    issuer.rotate("RS256")
    assert await oidc.principal_of(issuer.token()) == ALICE
    assert issuer.asked_for_keys == 2
    assert await oidc.principal_of(old) is None, "its key is withdrawn"
    for number in range(20):
        assert await oidc.principal_of(issuer.token(headers={"kid": f"made-up-{number}"})) is None
    assert issuer.asked_for_keys == 2
    timer.now_s += ASK_AGAIN_S
    assert await oidc.principal_of(issuer.token(headers={"kid": "made-up"})) is None
    assert issuer.asked_for_keys == 3


async def test_withdrawn_key_is_not_believed_for_ever(issuer: FakeIssuer, oidc: OidcIssuer, timer: Timer) -> None:
    old = issuer.token()
    assert await oidc.principal_of(old) == ALICE
    issuer.rotate()
    assert await oidc.principal_of(old) == ALICE
    timer.now_s += FRESH_S
    assert await oidc.principal_of(old) is None


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500),
        Reply(text="<html>"),
        Reply(body=[]),
        Reply(body={"issuer": "https://another.example", "jwks_uri": "https://127.0.0.1:1/"}),
        Reply(302, headers={"location": "https://127.0.0.1:1/"}),
        Reply(cut=True),
        Reply(text="[" * 2_000_000),
    ],
)
async def test_issuer_that_is_away_is_said_and_known_keys_go_on(issuer: FakeIssuer, timer: Timer, reply: Reply) -> None:
    oidc = OidcIssuer(_terms(issuer), timer)
    issuer.answers["/openid-configuration"] = reply
    for _ in range(3):
        with pytest.raises(IssuerAway):
            await oidc.principal_of(issuer.token())
    assert len(issuer.of("GET", "/openid-configuration")) == 1
    issuer.answers.clear()
    timer.now_s += ASK_AGAIN_S
    assert await oidc.principal_of(issuer.token()) == ALICE
    issuer.answers["/openid-configuration"] = reply
    timer.now_s += FRESH_S
    assert await oidc.principal_of(issuer.token()) == ALICE
    issuer.rotate()
    with pytest.raises(IssuerAway):
        await oidc.principal_of(issuer.token())


async def test_issuer_that_says_nothing_holds_nobody_up_beyond_the_budget(issuer: FakeIssuer) -> None:
    issuer.answers["/keys"] = Reply(wait=30)
    oidc = OidcIssuer(_terms(issuer, timeout_s=0.3))
    began = time.monotonic()
    with pytest.raises(IssuerAway):
        await oidc.principal_of(issuer.token())
    assert time.monotonic() - began < 15


async def test_issuer_with_another_certificate_is_not_believed(issuer: FakeIssuer, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_text(authority().pem)
    with pytest.raises(IssuerAway):
        await OidcIssuer(_terms(issuer, ca_file=other)).principal_of(issuer.token())


def test_ca_file_that_holds_none_is_named(issuer: FakeIssuer, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for ca_file in (tmp_path / "empty.pem", tmp_path / "missing.pem"):
        with pytest.raises(SettingsRefused, match="LEDGER_OIDC_CA"):
            OidcIssuer(_terms(issuer, ca_file=ca_file))


def test_ledger_lets_members_in_by_their_rights_and_nobody_where_the_issuer_is_away(
    issuer: FakeIssuer, tmp_path: Path, prefect: FakePrefect
) -> None:
    settings: dict[str, Any] = {"oidc_issuer": issuer.url, "oidc_audience": AUDIENCE, "oidc_ca": issuer.ca_file}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, **settings) as desk:

        def call(method: str, path: str, token: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"}
            return httpx.request(method, desk.url + path, headers=headers, json={}, trust_env=False)

        issuer.answers["/openid-configuration"] = Reply(500)
        refusal = call("GET", "/api/me", issuer.token())
        assert (refusal.status_code, int(refusal.headers["retry-after"]) > 0) == (503, True)
        assert desk.get("/api/me")["subject"] == "operator"
        issuer.answers.clear()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, **settings) as desk:
        assert call("GET", "/api/me", issuer.token()).json() == {
            "subject": "oidc:alice",
            "organizations": ["acme"],
            "canSubmit": True,
        }
        assert call("POST", "/api/crawls", issuer.token()).status_code == 400
        assert call("POST", "/api/crawls", issuer.token(role="viewer")).status_code == 404
        assert call("POST", "/api/tokens", issuer.token(role=["admin"])).status_code == 400
        unknown = call("GET", "/api/me", "unknown")
        for wrong in (issuer.token(lasts_s=-60), issuer.token(aud="other"), issuer.token(role=None), "a.b.c"):
            answer = call("GET", "/api/me", wrong)
            assert (answer.status_code, answer.content) == (401, unknown.content)
