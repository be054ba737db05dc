"""The command as a person and as a program meets it."""

import json
from pathlib import Path

import pytest

from comity.cli.errors import BadInput
from comity.cli.verify import run_verify
from tests.unit.archive.packages import package


def test_whole_archive_is_told_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.wacz"
    path.write_bytes(package(tmp_path))
    assert run_verify(path, as_json=False) == 0
    told = capsys.readouterr().out
    assert "one.wacz is what it says it is" in told
    for step in ("zip", "stored", "datapackage", "digest", "resources", "records", "index", "pages"):
        assert step in told


def test_changed_archive_exits_1_and_names_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.wacz"
    data = bytearray(package(tmp_path))
    data[data.index(b'"id": "p1"') + 7] ^= 1
    path.write_bytes(data)
    assert run_verify(path, as_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    failed = {step["step"]: step["reason"] for step in told["steps"] if step["outcome"] == "failed"}
    assert told["ok"] is False
    assert "pages/pages.jsonl" in failed["resources"]
    assert run_verify(path, as_json=False) == 1
    assert "one.wacz FAILED: zip, resources" in capsys.readouterr().out


def test_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        run_verify(tmp_path / "missing.wacz", as_json=False)
    with pytest.raises(BadInput, match="cannot be read"):
        run_verify(tmp_path, as_json=False)


def test_cut_archive_is_called_cut_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, whole = tmp_path / "half.wacz", package(tmp_path)
    for data, cut in ((whole[: len(whole) // 2], True), (b"no ZIP", False)):
        path.write_bytes(data)
        assert run_verify(path, as_json=True) == 1
        reason = json.loads(capsys.readouterr().out)["steps"][0]["reason"]
        assert ("it begins like a ZIP, but its end is missing: it was cut off" in reason) is cut
