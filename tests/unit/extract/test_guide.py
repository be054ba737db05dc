"""The guide's programs are right, and it names what there is."""

import re
from pathlib import Path

import pytest

from comity import extract
from comity.extract.compiler.builtins import BUILTINS
from comity.extract.compiler.workflow import STEPS

REPOSITORY = Path(__file__).resolve().parents[3]
GUIDE = (REPOSITORY / "docs" / "extract.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```kdl\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: text.split('"')[1])
def test_program_of_the_guide_is_right(program: str) -> None:
    compilation = extract.compile(program)
    assert compilation.diagnostics == ()
    assert compilation.program is not None


def test_guide_has_programs_and_names_every_transform_and_step() -> None:
    assert len(PROGRAMS) >= 3
    assert [name for name in (*BUILTINS, *STEPS) if f"`{name}`" not in GUIDE] == []


def test_guide_names_every_code_of_a_run() -> None:
    sources = [*(REPOSITORY / "comity/extract/run").glob("*.py"), *(REPOSITORY / "comity/cli/extraction").glob("*.py")]
    codes = {code for one in sources for code in re.findall(r'"([EW]_[A-Z_]+)"', one.read_text(encoding="utf-8"))}
    assert len(codes) > 30
    assert sorted(code for code in codes if f"`{code}`" not in GUIDE) == []
