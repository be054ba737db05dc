"""A browser that does not start says why, and what to do."""

import os
import tempfile
from pathlib import Path

import pytest

from comity.capture.last_words import last_words, told
from comity.capture.scratch import PREFIX, own_scratch

SANDBOX = "[1130/114517.6:ERROR:zygote_host_impl_linux.cc:130] No usable sandbox! If this is a Debian system, please"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (SANDBOX, "user.max_user_namespaces"),
        ("warming up\n[1:FATAL:x.cc] no room left\nmore", "says: no room left; COMITY_BROWSER"),
        ("/b: error while loading shared libraries: libnss3.so", "libnss3.so"),
        ("what a day", "says: what a day"),
    ],
)
def test_cause_is_told_with_the_next_step(said: str, words: str) -> None:
    assert words in told("/b", said)
    assert "\n" not in told("/b", said)


def test_silence_is_told_as_nothing() -> None:
    assert told("/b", "\n \n") == ""


async def test_browser_is_asked_by_hand(tmp_path: Path) -> None:
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\necho 'cannot open display' >&2\nexit 1\n")
    broken.chmod(0o755)
    assert "cannot open display" in await last_words(str(broken))
    assert "cannot be run" in await last_words(str(tmp_path / "nowhere"))


def test_scratch_is_removed_and_what_the_dead_left_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, alive, other = (tmp_path / f"{PREFIX}{name}" for name in ("999999999-x", f"{os.getppid()}-x", "notes"))
    for folder in (dead, alive, other):
        (folder / "profile").mkdir(parents=True)
    with own_scratch() as folder:
        assert Path(tempfile.mkdtemp()).parent == folder
        assert not dead.exists()
        assert alive.exists()
        assert other.exists()
    assert not folder.exists()
    assert tempfile.gettempdir() == str(tmp_path)
