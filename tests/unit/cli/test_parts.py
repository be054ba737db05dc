"""Which settings of a shell reach which part of the embedded stack."""

from pathlib import Path

import pytest

from comity.cli.data_folder import DataFolder
from comity.cli.stack.parts import Part, port_names, stack_parts

BUCKET = {"COMITY_S3_BUCKET": "archives", "COMITY_S3_SECRET_ACCESS_KEY": "sesame"}


def parts(folder: Path) -> dict[str, Part]:
    data = DataFolder(folder)
    data.secrets.mkdir(parents=True)
    ports = {name: 1000 + number for number, name in enumerate(port_names(1))}
    return {part.name: part for part in stack_parts(data, ports, 1, folder)}


def test_captures_go_to_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BUCKET:
        monkeypatch.delenv(name, raising=False)
    assert parts(tmp_path)["capture-1"].env["CAPTURE_STORE"] == str(tmp_path / "artifacts")


def test_captures_go_to_the_bucket_that_is_named_and_its_keys_to_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in BUCKET.items():
        monkeypatch.setenv(name, value)
    made = parts(tmp_path)
    assert "CAPTURE_STORE" not in made["capture-1"].env
    with_keys = {name for name, part in made.items() if BUCKET.items() <= part.env.items()}
    assert with_keys == {"capture-1", "ledger"}
    assert not [name for name in made.keys() - with_keys if "sesame" in made[name].env.values()]
