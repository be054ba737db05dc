"""The table of rights, as the guard asks it."""

import pytest

from ledger.rules import rights


@pytest.mark.parametrize(
    ("method", "path", "roles"),
    [
        ("GET", "/api/crawls/c1", {"viewer", "submitter", "admin"}),
        ("POST", "/api/crawls", {"submitter", "admin"}),
        ("POST", "/api/crawls/c1/results", {"flows"}),
        ("POST", "/api/tokens", {"admin"}),
        ("GET", "/api/me", {"viewer", "submitter", "admin", "flows"}),
        ("PUT", "/api/crawls", set()),
        ("GET", "/api/crawls/", set()),
        ("GET", "/api/crawls/c1/", set()),
        ("GET", "/api/crawls//pages", set()),
        ("GET", "/api/nothing", set()),
        ("GET", "/API/me", set()),
        ("GET", "/api/me\n", set()),
    ],
)
def test_roles_of_a_call(method: str, path: str, roles: set[str]) -> None:
    needed = rights.rights_of(path).get(method, [])
    assert {role for role in ("viewer", "submitter", "admin", "flows") if rights.may(role, needed)} == roles
    assert not rights.needs_no_token(needed)


@pytest.mark.parametrize(("method", "path"), [("GET", "/healthz"), ("PUT", "/api/sink/c1/t1_c1.p1.1.1.wacz")])
def test_call_without_a_role(method: str, path: str) -> None:
    assert rights.needs_no_token(rights.rights_of(path)[method])


def test_where_two_rows_fit_the_stricter_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {("GET", "/x/{name}"): rights.PEOPLE, ("GET", "/x/keys"): rights.ADMINS, ("GET", "/y/{rest:path}"): "open"}
    monkeypatch.setattr(rights, "RIGHTS", rows)
    rights._patterns.cache_clear()
    try:
        assert rights.may("viewer", rights.rights_of("/x/other")["GET"])
        assert not rights.may("viewer", rights.rights_of("/x/keys")["GET"])
        assert rights.needs_no_token(rights.rights_of("/y/a/b")["GET"])
    finally:
        rights._patterns.cache_clear()
