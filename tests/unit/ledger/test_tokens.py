"""Service tokens on disk and in comparison."""

from pathlib import Path

import pytest

from ledger.errors import SettingsRefused
from ledger.tokens import SUBJECTS, Tokens, load_or_make


def test_first_start_makes_tokens_and_later_ones_keep_them(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tokens"
    load_or_make(folder)
    made = {subject: (folder / subject).read_text().strip() for subject in SUBJECTS}
    assert len(set(made.values())) == len(SUBJECTS) == 3
    assert folder.stat().st_mode & 0o777 == 0o700
    for subject, token in made.items():
        assert (folder / subject).stat().st_mode & 0o777 == 0o600
        assert len(token) >= 43  # 256 bits, URL-safe
        assert load_or_make(folder).subject_of(token) == subject


def test_only_the_whole_token_is_ours() -> None:
    tokens = Tokens({"flows": "abc", "operator": "def"})
    assert (tokens.subject_of("abc"), tokens.subject_of("def")) == ("flows", "operator")
    for wrong in ("", "ab", "abcd", "ABC", "\udcff"):
        assert tokens.subject_of(wrong) is None
    assert "abc" not in repr(vars(tokens))


@pytest.mark.parametrize(
    ("name", "mode", "fix"),
    [
        (".", 0o750, "chmod 700"),
        (".", 0o701, "chmod 700"),
        ("flows", 0o640, "chmod 600"),
        ("operator", 0o604, "chmod 600"),
    ],
)
def test_tokens_that_others_can_read_are_refused_with_the_fix(tmp_path: Path, name: str, mode: int, fix: str) -> None:
    folder = tmp_path / "tokens"
    load_or_make(folder)
    (folder / name).chmod(mode)
    with pytest.raises(SettingsRefused, match=fix):
        load_or_make(folder)


def test_narrower_permissions_are_fine(tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    load_or_make(folder)
    (folder / "flows").chmod(0o400)
    load_or_make(folder)


def test_token_file_without_token_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    load_or_make(folder)
    (folder / "flows").write_text("\n")
    with pytest.raises(SettingsRefused, match="remove it"):
        load_or_make(folder)
