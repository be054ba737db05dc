"""What `--extractor` says."""

from pathlib import Path

import pytest
from rich.console import Console

from comity.cli.crawl_extractors import export_hint, read_wish, render, told, unmatched
from comity.cli.errors import BadInput
from comity.contract.extraction import ExtractionError, ExtractionProgress, ExtractionView, ExtractorPin
from tests.fakes.extractor_programs import program
from tests.unit.cli.facts import at


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


def shown(progress: ExtractionProgress, results: list[ExtractionView], why_none: str = "") -> list[str]:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(render(progress, results, "the hint", why_none=why_none))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_pages_that_failed_are_named_with_their_reasons_and_how_many_more() -> None:
    def failed(number: int) -> ExtractionView:
        error = ExtractionError(code="X_MISSING", message=f"nothing for {number}")
        return ExtractionView(
            page_id=f"p{number}", url=f"http://a.test/{number}", depth=0, extractor="news", version=1, state="failed",
            error=error, extracted_at=at(0),
        )  # fmt: skip

    progress = ExtractionProgress(state="idle", pending=0, extracted=0, failed=7, partial=0)
    lines = shown(progress, [failed(number) for number in range(5)])
    assert lines[0] == "extraction: 0 extracted, 7 failed"
    assert lines[1:3] == ["  news  http://a.test/0", "    X_MISSING nothing for 0"]
    assert lines[-2:] == ["  and 2 more failed, each with its error in the export", "the hint"]
    assert len(shown(progress.model_copy(update={"failed": 5}), [failed(number) for number in range(5)])) == 12


def test_extraction_of_nothing_says_why() -> None:
    none = ExtractionProgress(state="idle", pending=0, extracted=0, failed=0, partial=0)
    pins = [ExtractorPin(id="news", version=1, sha256="0" * 64, url_pattern="/nowhere/")]
    why = unmatched(none, pins, 3)
    assert shown(none, [], why) == [
        "extraction: 0 extracted, 0 failed; no URL of the 3 captured pages matches news=/nowhere/"
    ]
    assert unmatched(none, pins, 0) == "no page was captured"
    assert unmatched(none.model_copy(update={"failed": 1}), pins, 3) == ""
