"""The ten extractors of the guide, each over its page: what the guide shows is what they give."""

import json
import re
from pathlib import Path

import pytest

from comity import extract
from comity.extract import Program, Result

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "extract-guide.md"
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", GUIDE.read_text(encoding="utf-8")))


def block(section: str, kind: str) -> str:
    found = re.findall(rf"(?ms)^```{kind}\n(.*?)^```", section)
    assert len(found) == 1, f"{len(found)} blocks of {kind}"
    return str(found[0])


def test_there_are_ten() -> None:
    assert [title.partition(".")[0] for title in SECTIONS] == [str(number) for number in range(1, 11)]


@pytest.mark.parametrize("title", SECTIONS)
def test_extractor_gives_what_the_guide_shows(title: str) -> None:
    section = SECTIONS[title]

    def module(path: str) -> bytes:
        assert path == "money.kdl"
        return block(section, "kdl module").encode()

    compilation = extract.compile(block(section, "kdl"), module)
    assert compilation.diagnostics == ()
    assert compilation.program is not None
    prepared = Program.prepare(compilation.program)
    assert isinstance(prepared, Program), prepared
    found = prepared.extract_snapshot(block(section, "html"))
    assert isinstance(found, Result), found
    assert json.dumps(found.plain(), indent=2, ensure_ascii=False) == block(section, "json").rstrip("\n")
