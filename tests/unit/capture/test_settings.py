"""Settings: half-configured is refused, naming the variable."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from comity.capture.settings import Settings


@pytest.fixture
def pair(tmp_path: Path) -> dict[str, str]:
    for name in ("cert", "key"):
        (tmp_path / name).write_text("x")
    return {"CAPTURE_TLS_CERT": str(tmp_path / "cert"), "CAPTURE_TLS_KEY": str(tmp_path / "key")}


def read(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Settings:
    for name in ("HOST", "PORT", "STORE", "TOKEN", "TLS_CERT", "TLS_KEY", "MAX_RESPONSE_BYTES", "MAX_TASK_BYTES"):
        monkeypatch.delenv(f"CAPTURE_{name}", raising=False)
    for name, value in ({"CAPTURE_STORE": "/tmp"} | environment).items():
        monkeypatch.setenv(name, value)
    settings: Any = Settings
    made: Settings = settings()
    return made


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "localhost", "::1"])
def test_loopback_needs_neither_tls_nor_token(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert read(monkeypatch, CAPTURE_HOST=host).loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "capture.example"])
def test_beyond_loopback_needs_tls_and_token(monkeypatch: pytest.MonkeyPatch, pair: dict[str, str], host: str) -> None:
    with pytest.raises(ValidationError, match="CAPTURE_TLS_CERT"):
        read(monkeypatch, CAPTURE_HOST=host, CAPTURE_TOKEN="t")
    with pytest.raises(ValidationError, match="CAPTURE_TOKEN"):
        read(monkeypatch, CAPTURE_HOST=host, **pair)
    assert not read(monkeypatch, CAPTURE_HOST=host, CAPTURE_TOKEN="t", **pair).loopback


def test_certificate_and_key_come_together(monkeypatch: pytest.MonkeyPatch, pair: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="CAPTURE_TLS_KEY"):
        read(monkeypatch, CAPTURE_TLS_CERT=pair["CAPTURE_TLS_CERT"])
    with pytest.raises(ValidationError, match="is not a file"):
        read(monkeypatch, CAPTURE_TLS_CERT="/nowhere", CAPTURE_TLS_KEY=pair["CAPTURE_TLS_KEY"])


def test_response_limit_fits_into_the_task_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="CAPTURE_MAX_TASK_BYTES"):
        read(monkeypatch, CAPTURE_MAX_RESPONSE_BYTES="2", CAPTURE_MAX_TASK_BYTES="1")
    assert read(monkeypatch, CAPTURE_MAX_RESPONSE_BYTES="2", CAPTURE_MAX_TASK_BYTES="2").max_task_bytes == 2


def test_token_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sesame" not in repr(read(monkeypatch, CAPTURE_TOKEN="sesame"))


def test_sinks_beyond_loopback_are_https_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = '["http://127.0.0.1:8080/api", "https://sink.example/api"]'
    assert len(read(monkeypatch, CAPTURE_SINK_PREFIXES=taken).sink_prefixes) == 2
    for refused in ("http://sink.example/api", "https://sink.example/?a", "https://user@sink.example/", "sink"):
        with pytest.raises(ValidationError, match=r"(?i)sink_prefixes"):
            read(monkeypatch, CAPTURE_SINK_PREFIXES=f'["{refused}"]')
