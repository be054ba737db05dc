from pathlib import Path

import pytest

from comity.cli.blocks_init import BlockSettings
from comity.cli.errors import BadInput

GIVEN = {
    "COMITY_LEDGER_URL": "http://127.0.0.1:1",
    "COMITY_LEDGER_TOKEN_FILE": "/t/flows",
    "COMITY_LEDGER_TRIGGER_TOKEN_FILE": "/t/trigger",
    "COMITY_CAPTURE_URLS": "http://127.0.0.1:2, http://127.0.0.1:3",
    "COMITY_CAPTURE_TOKEN_FILE": "",
    "COMITY_COMPILER_URL": "http://127.0.0.1:4",
    "COMITY_COMPILER_TOKEN_FILE": "",
}


def test_values_come_from_the_environment() -> None:
    settings = BlockSettings.resolve({}, GIVEN)
    assert settings.ledger_token_file == Path("/t/flows")
    assert settings.capture_urls == ("http://127.0.0.1:2", "http://127.0.0.1:3")
    assert settings.capture_token_file is None
    assert settings.slots_per_endpoint == 1


def test_flags_win() -> None:
    flags = {"ledger-url": "https://ledger.test", "slots-per-endpoint": "4", "compiler-url": None}
    settings = BlockSettings.resolve(flags, GIVEN)
    assert settings.ledger_url == "https://ledger.test"
    assert settings.slots_per_endpoint == 4
    assert settings.compiler_url == "http://127.0.0.1:4"


@pytest.mark.parametrize("missing", sorted(GIVEN))
def test_what_neither_gives_is_named_both_ways(missing: str) -> None:
    with pytest.raises(BadInput) as refusal:
        BlockSettings.resolve({}, {name: value for name, value in GIVEN.items() if name != missing})
    assert missing in str(refusal.value)
    assert f"--{missing.removeprefix('COMITY_').lower().replace('_', '-')}" in str(refusal.value)


@pytest.mark.parametrize("slots", ["0", "-1", "two", ""])
def test_slots_are_a_whole_number_from_one_on(slots: str) -> None:
    with pytest.raises(BadInput, match="--slots-per-endpoint"):
        BlockSettings.resolve({"slots-per-endpoint": slots}, GIVEN)
