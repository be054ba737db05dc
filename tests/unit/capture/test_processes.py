"""Finding the browser and the command that starts it."""

import os
from pathlib import Path

import pytest

from comity.capture.egress.ports import ProxyPorts
from comity.capture.processes import NoBrowserError, behind_wrapper, command_line, find_browser


def program(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return str(path)


def test_named_browser_is_used_and_a_wrong_name_refused(tmp_path: Path) -> None:
    named = program(tmp_path / "my-chromium", b"\x7fELF")
    assert find_browser(named) == named
    with pytest.raises(NoBrowserError, match="COMITY_BROWSER"):
        find_browser(str(tmp_path / "nothing"))


def test_first_known_name_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBrowserError, match="chromium-headless-shell"):
        find_browser(None)
    program(tmp_path / "google-chrome", b"\x7fELF")
    preferred = program(tmp_path / "chrome-headless-shell", b"\x7fELF")
    assert find_browser(None) == preferred


def test_program_behind_a_script_is_started_itself(tmp_path: Path) -> None:
    script = program(tmp_path / "bin" / "chromium", b"#!/bin/sh\n")
    assert behind_wrapper(script, tmp_path / "lib") == script
    real = program(tmp_path / "lib" / "chromium", b"\x7fELF")
    assert behind_wrapper(script, tmp_path / "lib") == real
    assert behind_wrapper(real, tmp_path / "lib") == real


@pytest.mark.parametrize(("user", "expected"), [(0, True), (1000, False)])
def test_sandbox_is_off_for_root_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, expected: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    command = command_line("/browser", tmp_path, ProxyPorts(pages=1080, sockets=1081))
    assert ("--no-sandbox" in command) is expected
    assert f"--user-data-dir={tmp_path}" in command
