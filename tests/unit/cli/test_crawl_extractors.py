"""What `--extractor` says."""

from pathlib import Path

import pytest

from comity.cli.crawl_extractors import export_hint, read_wish, told
from comity.cli.errors import BadInput
from comity.contract.extraction import ExtractionProgress
from tests.fakes.extractor_programs import program


@pytest.mark.parametrize(
    ("text", "ident", "version", "pattern"),
    [
        ("news", "news", None, "."),
        ("news@3", "news", 3, "."),
        ("news=/news/", "news", None, "/news/"),
        ("news@2=[?&]a=1$", "news", 2, "[?&]a=1$"),
    ],
)
def test_catalogue_extractor_is_named_with_version_and_pattern(
    text: str, ident: str, version: int | None, pattern: str
) -> None:
    wish = read_wish(text)
    assert (wish.choice.id, wish.choice.version, wish.choice.url_pattern, wish.file) == (ident, version, pattern, None)


def test_file_is_read_and_goes_by_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "page.kdl"
    path.write_text(program("news"))
    wish = read_wish(f"{path}=/news/")
    assert (wish.choice.id, wish.choice.url_pattern) == ("news", "/news/")
    assert wish.file is not None
    assert (wish.file.extractor.file, wish.file.extractor.source) == ("page.kdl", program("news"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write an id"),
        ("=x", "write an id"),
        ("news@", "write an id"),
        ("news@x", "write an id"),
        ("news@0", "write an id"),
        ("news=", "a pattern follows"),
        ("news=(", "not an RE2 pattern"),
        ("none.kdl", "there is no such file"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read_wish(text)


def test_progress_is_one_line_and_the_hint_is_a_command() -> None:
    progress = ExtractionProgress(state="stopped", pending=1, extracted=4, failed=2, partial=3, reason="it crashed")
    assert told(progress) == "4 extracted (3 in part), 2 failed, 1 wait: it crashed"
    assert "comity extract export c1 --data" in export_hint("c1", Path("data"), stack_stays=True)
    assert export_hint("c1", Path("data"), stack_stays=False).startswith("all of it: comity up --data data, then")
