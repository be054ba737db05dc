"""Who a token's claims say that its holder is."""

from typing import Any

import pytest

from ledger.principal import Principal
from ledger.rules.claims import NoMember, member, subject_name

GOOD = {"sub": "alice", "orgs": ["acme", "beta", "acme"], "role": "submitter"}


def _member(**change: Any) -> Principal | NoMember:
    return member({**GOOD, **change}, organizations_claim="orgs", role_claim="role")


def test_good_claims_make_a_member_whose_first_organisation_stays_first() -> None:
    assert _member() == Principal("oidc:alice", ("acme", "beta"), "submitter")


@pytest.mark.parametrize(
    ("claim", "role"),
    [
        ("viewer", "viewer"),
        (["viewer", "admin", "other"], "admin"),
        (["submitter", "flows"], "submitter"),
    ],
)
def test_role_is_the_most_powerful_that_is_named(claim: object, role: str) -> None:
    found = _member(role=claim)
    assert isinstance(found, Principal)
    assert found.role == role
    assert not found.everywhere


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sub": ""}, "sub"),
        ({"sub": 7}, "sub"),
        ({"orgs": []}, "orgs"),
        ({"orgs": None}, "orgs"),
        ({"orgs": {"acme": True}}, "orgs"),
        ({"orgs": ["acme", 7]}, "orgs"),
        ({"orgs": ["acme", "a b"]}, "orgs"),
        ({"orgs": ["x" * 65]}, "orgs"),
        ({"orgs": [f"o{number}" for number in range(101)]}, "orgs"),
        ({"role": None}, "role"),
        ({"role": "flows"}, "role"),
        ({"role": "Admin"}, "role"),
        ({"role": {"admin": True}}, "role"),
    ],
)
def test_holder_without_a_place_here_is_no_member_and_the_claim_is_named(change: dict[str, Any], named: str) -> None:
    found = _member(**change)
    assert isinstance(found, NoMember)
    assert found.why.startswith(f"{named}:")


@pytest.mark.parametrize("subject", ["x" * 300, "名前", "a\nb"])
def test_subject_that_does_not_fit_is_told_by_its_hash(subject: str) -> None:
    name = subject_name(subject)
    assert name.startswith("oidc:sha256-")
    assert len(name) <= 64
    assert name != subject_name(subject + "x")
