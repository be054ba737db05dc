"""`comity extract check` and `ir` as a person and as a program meet them."""

import json
from pathlib import Path

import pytest

from comity.extract import read_program
from tests.unit.cli.test_command import comity
from tests.unit.extract.programs import SOURCE, VERSIONS, extractor, field

WRONG = f"""extractor "page" {VERSIONS} {{
  {SOURCE}
  field "名" type="string" required=#true {{ select "h1"; value "text" }}
  field "price" type="u8" {{
    select "p:hover"
    value "text"; apply "parse-int" as="u8" radix=1
  }}
}}
"""


def kept(folder: Path, text: str) -> str:
    (folder / "page.kdl").write_text(text, encoding="utf-8")
    return "page.kdl"


def test_three_mistakes_are_drawn_at_their_places(tmp_path: Path) -> None:
    done = comity("extract", "check", kept(tmp_path, WRONG), cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    drawn = {
        line.split(":")[1]: (lines[at + 1], lines[at + 2]) for at, line in enumerate(lines) if ": error E_" in line
    }
    assert list(drawn) == ["3", "5", "6"]
    source, marks = drawn["6"]
    assert source[marks.index("^") : marks.rindex("^") + 1] == 'apply "parse-int"'
    assert "3 mistakes" in lines[-1]
    assert done.stderr == ""


def test_json_has_every_diagnostic_with_its_span(tmp_path: Path) -> None:
    done = comity("extract", "check", "--json", kept(tmp_path, WRONG), cwd=tmp_path)
    assert done.returncode == 1
    facts = json.loads(done.stdout)
    assert facts["ok"] is False
    codes = [one["code"] for one in facts["diagnostics"]]
    assert codes == ["E_IDENTIFIER_INVALID", "E_SELECTOR_UNSUPPORTED", "E_TRANSFORM_ARGUMENT"]
    assert facts["diagnostics"][1]["span"]["start"] == {
        "offset": WRONG.encode().index(b'select "p'),
        "line": 5,
        "column": 5,
    }
    assert comity("extract", "ir", "--json", "page.kdl", cwd=tmp_path).stdout == done.stdout


def test_right_program_says_what_it_needs(tmp_path: Path) -> None:
    done = comity("extract", "check", kept(tmp_path, extractor(field())), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "page.kdl: right; it needs http.fetch\n")


def test_ir_of_a_right_program_reads_back(tmp_path: Path) -> None:
    done = comity("extract", "ir", kept(tmp_path, extractor(field())), cwd=tmp_path)
    assert done.returncode == 0
    program = read_program(done.stdout).program
    assert program is not None
    assert program.name == "test"


def test_ir_of_a_wrong_program_is_nothing(tmp_path: Path) -> None:
    done = comity("extract", "ir", kept(tmp_path, WRONG), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "E_SELECTOR_UNSUPPORTED" in done.stderr


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [(None, 2, "there is no such file"), ('import "./m.kdl" as="m"\n' + extractor(), 1, "imports m.kdl")],
)
def test_file_that_cannot_be_read_is_named(tmp_path: Path, text: str | None, status: int, said: str) -> None:
    if text is not None:
        kept(tmp_path, text)
    done = comity("extract", "check", "page.kdl", cwd=tmp_path)
    assert done.returncode == status
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_source_cannot_give_orders_to_a_terminal(tmp_path: Path) -> None:
    done = comity("extract", "check", kept(tmp_path, "node \x1b[31m[bold]\u202e\n"), cwd=tmp_path)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_only_the_first_mistakes_of_many_are_drawn(tmp_path: Path) -> None:
    done = comity("extract", "check", kept(tmp_path, "{ a; = (b\n" * 200), cwd=tmp_path)
    assert done.returncode == 1
    drawn = [line for line in done.stdout.splitlines() if ": error E_" in line]
    [more] = [line for line in done.stdout.splitlines() if line.startswith("and ")]
    every = json.loads(comity("extract", "check", "--json", "page.kdl", cwd=tmp_path).stdout)["diagnostics"]
    assert (len(drawn), more) == (20, f"and {len(every) - 20} more")
    assert f"{len(every)} mistakes" in done.stdout.splitlines()[-1]
