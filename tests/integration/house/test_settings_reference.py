"""The settings reference names every setting of every part with the default that it really has, and no other."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from comity.capture.s3_settings import S3Settings
from comity.capture.settings import Settings as CaptureSettings
from comity.capture.signing_settings import SigningSettings
from comity.tscompile.settings import Settings as CompilerSettings
from comity.watch.settings import Settings as WatchSettings
from ledger.settings import Settings as LedgerSettings

PARTS = (LedgerSettings, CaptureSettings, S3Settings, SigningSettings, CompilerSettings, WatchSettings)
REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "settings.md"
ROW = re.compile(r"^\| `([A-Z0-9_]+)` \| (.*?) \| (.+) \|$", re.M)


def rows() -> dict[str, str]:
    return {name: default for name, default, _ in ROW.findall(REFERENCE.read_text())}


def name_of(settings: type[BaseSettings], field: str, info: FieldInfo) -> str:
    alias = info.validation_alias
    return alias if isinstance(alias, str) else f"{settings.model_config['env_prefix']}{field.upper()}"


def shown(value: Any) -> str | None:
    """How the reference writes a default; None where any words will do."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value in ("", (), []):
        return None
    if isinstance(value, tuple):
        return f"`{','.join(value)}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"


@pytest.mark.parametrize("settings", PARTS)
def test_each_setting_is_listed_with_its_default(settings: type[BaseSettings]) -> None:
    listed = rows()
    for field, info in settings.model_fields.items():
        name = name_of(settings, field, info)
        assert name in listed, f"docs/settings.md does not list {name}"
        if info.is_required():
            assert listed[name] == "required", name
        elif (default := shown(info.default)) is not None:
            assert listed[name] == default, name


def test_nothing_is_listed_that_no_part_reads() -> None:
    known = {name_of(settings, field, info) for settings in PARTS for field, info in settings.model_fields.items()}
    parts = {name for name in rows() if name.startswith(("LEDGER_", "CAPTURE_", "TSCOMPILE_", "COMITY_WATCH_"))}
    assert parts - known == set()
