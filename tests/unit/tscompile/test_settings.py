"""Settings refuse to start half-configured and name what is missing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from comity.tscompile.settings import Settings

Files = Callable[[dict[str, str]], None]


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Files:
    for name in ("cert", "key"):
        (tmp_path / name).touch()

    def apply(environment: dict[str, str]) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(f"TSCOMPILE_{name}", value.replace("@", f"{tmp_path}/"))

    return apply


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"HOST": "::1"},
        {"HOST": "localhost", "TOKEN": "t"},
        {"TLS_CERT": "@cert", "TLS_KEY": "@key"},
        {"HOST": "0.0.0.0", "TOKEN": "t", "TLS_CERT": "@cert", "TLS_KEY": "@key"},
        {"TOKEN": "", "CACHE": ""},
    ],
)
def test_whole_configuration_is_accepted(configure: Files, environment: dict[str, str]) -> None:
    configure(environment)
    assert Settings().check_timeout_ms > 0


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"TLS_CERT": "@cert"}, "TSCOMPILE_TLS_KEY"),
        ({"TLS_CERT": "@cert", "TLS_KEY": "@none"}, "TSCOMPILE_TLS_KEY"),
        ({"HOST": "0.0.0.0", "TOKEN": "t"}, "TSCOMPILE_TLS_CERT"),
        ({"HOST": "0.0.0.0", "TLS_CERT": "@cert", "TLS_KEY": "@key"}, "TSCOMPILE_TOKEN"),
        ({"HOST": "compiler.example", "TOKEN": "t"}, "TSCOMPILE_TLS_CERT"),
        ({"PORT": "70000"}, "port"),
        ({"CHECK_TIMEOUT_MS": "0"}, "check_timeout_ms"),
    ],
)
def test_half_configuration_is_refused_by_name(configure: Files, environment: dict[str, str], named: str) -> None:
    configure(environment)
    with pytest.raises(ValidationError, match=named):
        Settings()
