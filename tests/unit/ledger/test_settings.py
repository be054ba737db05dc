"""Settings: what is refused by name, and what is taken."""

import os
from pathlib import Path

import pytest

from ledger.errors import SettingsRefused
from ledger.settings import Settings, read_settings

GOOD = {
    "LEDGER_DATA": "/data",
    "LEDGER_ARTIFACT_ROOT": "/store",
    "LEDGER_PREFECT_API_URL": "http://127.0.0.1:4200/api/",
    "LEDGER_PREFECT_AUTH_STRING": "",
}


def _read(monkeypatch: pytest.MonkeyPatch, **settings: str) -> Settings:
    for name in os.environ:
        if name.startswith("LEDGER_"):
            monkeypatch.delenv(name)
    for name, value in {**GOOD, **settings}.items():
        if value != "(unset)":
            monkeypatch.setenv(name, value)
    return read_settings()


def test_required_settings_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _read(monkeypatch)
    assert settings.store_url == "sqlite:////data/ledger.db"
    assert (settings.data, settings.artifact_root) == (Path("/data"), Path("/store"))
    assert settings.prefect_api_url == "http://127.0.0.1:4200/api"
    assert (settings.formats, settings.signing, settings.max_running_crawls) == (("wacz", "html"), False, 1)
    assert settings.limits.silence_s == 600


def test_lists_are_comma_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _read(monkeypatch, LEDGER_FORMATS=" wacz, png ", LEDGER_ALLOWED_HOSTS="ledger.internal,other")
    assert settings.formats == ("wacz", "png")
    assert settings.allowed_hosts == ("ledger.internal", "other")


@pytest.mark.parametrize(
    ("settings", "made", "may_choose"),
    [
        ({}, ("wacz", "html"), ("wacz", "html", "links")),
        ({"LEDGER_FORMATS": "png"}, ("png",), ("png", "links")),
        ({"LEDGER_FORMATS": "links"}, ("links",), ("links",)),
        ({"LEDGER_ALLOWED_FORMATS": "html, png,wacz"}, ("wacz", "html"), ("html", "png", "wacz", "links")),
    ],
)
def test_what_is_made_and_what_may_be_chosen_are_two_settings(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], made: tuple[str, ...], may_choose: tuple[str, ...]
) -> None:
    read = _read(monkeypatch, **settings)
    assert (read.formats, read.may_choose) == (made, may_choose)


def test_wide_host_is_taken_with_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    tls = {"LEDGER_TLS_CERT": "/cert.pem", "LEDGER_TLS_KEY": "/key.pem"}
    assert _read(monkeypatch, LEDGER_HOST="0.0.0.0", **tls).host == "0.0.0.0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEDGER_DATA", "(unset)"),
        ("LEDGER_DATA", "relative/path"),
        ("LEDGER_ARTIFACT_ROOT", "(unset)"),
        ("LEDGER_PREFECT_API_URL", "(unset)"),
        ("LEDGER_PREFECT_API_URL", "127.0.0.1:4200"),
        ("LEDGER_PREFECT_API_URL", "http://u:p@127.0.0.1:4200/api"),
        ("LEDGER_PREFECT_AUTH_STRING", "(unset)"),
        ("LEDGER_PREFECT_UI_URL", "nonsense"),
        ("LEDGER_FORMATS", "wacz,pdf"),
        ("LEDGER_FORMATS", ""),
        ("LEDGER_ALLOWED_FORMATS", ""),
        ("LEDGER_ALLOWED_FORMATS", "wacz,html,pdf"),
        ("LEDGER_ALLOWED_FORMATS", "wacz,png"),
        ("LEDGER_MAX_RUNNING_CRAWLS", "0"),
        ("LEDGER_PORT", "70000"),
        ("LEDGER_HOST", "0.0.0.0"),
        ("LEDGER_HOST", "203.0.113.7"),
        ("LEDGER_TLS_CERT", "/x.pem"),
        ("LEDGER_LEVEL_DEPLOYMENT", "crawl-level"),
        ("LEDGER_SINK_URL", "http://ledger.example"),
        ("LEDGER_SINK_URL", "nonsense"),
        ("LEDGER_MAX_ARTIFACT_BYTES", "0"),
        ("LEDGER_OIDC_TIMEOUT_S", "0"),
        ("LEDGER_SILENCE_LIMIT_S", "5"),
        ("LEDGER_RECONCILE_EVERY_S", "soon"),
    ],
)
def test_setting_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    with pytest.raises(SettingsRefused, match=name):
        _read(monkeypatch, **{name: value})


ISSUER = {"LEDGER_OIDC_ISSUER": "https://id.example/realms/x", "LEDGER_OIDC_AUDIENCE": "comity"}


def test_issuer_is_taken_exactly_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _read(monkeypatch).oidc is None
    terms = _read(monkeypatch, **{**ISSUER, "LEDGER_OIDC_ISSUER": "https://id.example/"}).oidc
    assert terms is not None
    assert (terms.issuer, terms.audience) == ("https://id.example/", "comity")
    assert (terms.organizations_claim, terms.role_claim) == ("organizations", "role")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"LEDGER_OIDC_ISSUER": "https://id.example"}, "LEDGER_OIDC_AUDIENCE"),
        ({"LEDGER_OIDC_AUDIENCE": "comity"}, "LEDGER_OIDC_ISSUER"),
        ({"LEDGER_OIDC_CA": "/ca.pem"}, "LEDGER_OIDC_CA"),
        ({**ISSUER, "LEDGER_OIDC_AUDIENCE": ""}, "LEDGER_OIDC_AUDIENCE"),
        ({**ISSUER, "LEDGER_OIDC_ISSUER": "http://id.example"}, "LEDGER_OIDC_ISSUER"),
        ({**ISSUER, "LEDGER_OIDC_ISSUER": "https://id.example/?x=1"}, "LEDGER_OIDC_ISSUER"),
        ({**ISSUER, "LEDGER_OIDC_ISSUER": "https://u@id.example/"}, "LEDGER_OIDC_ISSUER"),
        ({**ISSUER, "LEDGER_OIDC_ROLE_CLAIM": ""}, "LEDGER_OIDC_ROLE_CLAIM"),
    ],
)
def test_issuer_that_is_half_configured_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], named: str
) -> None:
    with pytest.raises(SettingsRefused, match=named):
        _read(monkeypatch, **settings)


def test_signing_without_wacz_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _read(monkeypatch, LEDGER_SIGNING="true").signing
    with pytest.raises(SettingsRefused, match="LEDGER_SIGNING"):
        _read(monkeypatch, LEDGER_SIGNING="true", LEDGER_FORMATS="html")


def test_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "secret" not in repr(_read(monkeypatch, LEDGER_PREFECT_AUTH_STRING="user:secret"))
