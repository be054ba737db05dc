"""`comity targets` and `comity scripts` against a real ledger."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from blocks.clients.compiler import CompilerClient
from blocks.clients.ledger import LedgerClient
from comity.cli import commands_scripts, commands_targets
from comity.cli.errors import BadInput
from comity.cli.main import app
from tests.fakes.ports import dead_url
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, ledger_at
from tests.integration.tscompile.conftest import running

A, B, C = "http://127.0.0.2/a", "http://127.0.0.2/b,1", "http://[fd00::2]/c[d]"
Run = Callable[..., Result]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with FakePrefect() as prefect, ledger_at(tmp_path / "data", tmp_path / "store", prefect) as running:
        yield running


@pytest.fixture(scope="module")
def compiler() -> Iterator[str]:
    """Where a real script compiler listens."""
    with running() as service:
        yield str(service.client.base_url)


@pytest.fixture
def run(desk: Desk, compiler: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command that is to succeed; its output."""
    for module in (commands_targets, commands_scripts):
        monkeypatch.setattr(module, "ledger_of", lambda data: LedgerClient(desk.url, desk.token, "", timeout_ms=30_000))

    monkeypatch.setattr(commands_scripts, "compiler_of", lambda data: CompilerClient(compiler, "", ""))

    def comity(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, arguments, input=stdin)

    return comity


def said(result: Result) -> str:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def refused(result: Result) -> str:
    assert isinstance(result.exception, BadInput), (result.output, result.exception)
    assert result.exception.exit_code == 2
    return str(result.exception)


def targets(desk: Desk) -> list[tuple[str, bool, list[str]]]:
    rows: list[dict[str, Any]] = desk.get("/api/targets")["targets"]
    return [(row["url"], row["enabled"], row["labels"]) for row in rows]


def test_targets_are_imported_from_files_and_standard_input(desk: Desk, run: Run, tmp_path: Path) -> None:
    plain = tmp_path / "list.txt"
    plain.write_text(f"\ufeff# mine\n{A}\n\n{B}\n{A}#again\n", "utf-8")
    assert "2 added, 0 were there already" in said(run("targets", "import", str(plain), "--label", "x"))
    (tmp_path / "more.csv").write_text(f'url,labels\n"{B}",never\n{C},"y;x",z\n', "utf-8")
    rows = json.loads(said(run("targets", "import", str(tmp_path / "more.csv"), "--label", "x", "--json")))
    assert (rows["added"], [row["url"] for row in rows["targets"]]) == (1, [B, C])
    assert targets(desk) == [(A, True, ["x"]), (B, True, ["x"]), (C, True, ["x", "y", "z"])]
    said(run("targets", "import", "-", "--csv", stdin="http://127.0.0.2/d,from a pipe\n"))
    assert targets(desk)[-1] == ("http://127.0.0.2/d", True, ["from a pipe"])


def test_one_unreadable_line_adds_none_and_is_named(desk: Desk, run: Run, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"{A}\nnonsense\n{B}\n")
    assert "list:2: 'nonsense'" in refused(run("targets", "import", str(tmp_path / "list")))
    (tmp_path / "list").write_bytes(b"http://127.0.0.2/\n\n\xff\n")
    assert "list:3: is not UTF-8" in refused(run("targets", "import", str(tmp_path / "list")))
    assert "cannot be read" in refused(run("targets", "import", str(tmp_path / "none")))
    assert "standard input:1" in refused(run("targets", "import", "-", stdin="nonsense"))
    assert "'nonsense' is not a URL" in refused(run("targets", "add", A, "nonsense"))
    assert "--label" in refused(run("targets", "add", A, "--label", "x" * 101))
    assert "--label" in refused(run("targets", "add", A, *(word for n in range(21) for word in ("--label", str(n)))))
    assert targets(desk) == []


def test_targets_are_listed_by_label_and_state_and_changed(desk: Desk, run: Run) -> None:
    said(run("targets", "add", A, B, "--label", "x"))
    said(run("targets", "add", C, "--label", "x", "--label", "y"))
    said(run("targets", "disable", B))
    urls = {
        (): [A, B, C],
        ("--label", "x"): [A, B, C],
        ("--label", "x", "--label", "y"): [C],
        ("--label", "z"): [],
        ("--disabled",): [B],
        ("--enabled", "--label", "x"): [A, C],
    }
    for options, expected in urls.items():
        rows = json.loads(said(run("targets", "list", "--json", *options)))
        assert [row["url"] for row in rows] == expected, options
        assert [line.split()[1] for line in said(run("targets", "list", *options)).splitlines()[1:]] == expected
    assert json.loads(said(run("targets", "enable", B, "--json")))["enabled"] is True
    said(run("targets", "rm", desk.get("/api/targets")["targets"][0]["id"]))
    assert [url for url, _, _ in targets(desk)] == [B, C]
    assert "no target" in refused(run("targets", "rm", A))


def test_scripts_are_added_imported_shown_and_removed(desk: Desk, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "scripts"
    (folder / "preload").mkdir(parents=True)
    (folder / "look.ts").write_text("// description: Looks.\n1;\n")
    (folder / "look.json").write_text('{"a": 1}')
    (folder / "preload" / "early.ts").write_text("2;\n")
    assert "2 new versions, 0 were there" in said(run("scripts", "import", str(folder), "--phase", "behavior"))
    assert "0 new versions, 2 were there" in said(run("scripts", "import", str(folder), "--phase", "behavior"))
    (folder / "look.ts").write_text("3;\n")
    said(run("scripts", "add", str(folder / "look.ts"), "--phase", "behavior", "--options", '{"b": 2}'))
    rows = json.loads(said(run("scripts", "list", "--json")))
    assert [(row["id"], row["version"], row["phase"], row.get("options")) for row in rows] == [
        ("early", 1, "preload", None),
        ("look", 2, "behavior", {"b": 2}),
    ]
    assert said(run("scripts", "show", "look", "--source")) == "3;\n"
    assert said(run("scripts", "show", "look", "--version", "1", "--source")) == "// description: Looks.\n1;\n"
    shown = json.loads(said(run("scripts", "show", "look", "--json")))
    assert (shown["version"], shown["versions"], shown["source"]) == (2, [1, 2], "3;\n")
    assert "versions  1, 2" in said(run("scripts", "show", "look"))
    said(run("scripts", "disable", "look"))
    assert "disabled" in said(run("scripts", "list")).splitlines()[2]
    said(run("scripts", "enable", "look"))
    said(run("scripts", "rm", "look"))
    assert [row["id"] for row in desk.get("/api/scripts")["scripts"]] == ["early"]


def test_scripts_that_are_unknown_or_wrong_change_nothing(desk: Desk, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "look.ts"
    path.write_text("1;\n")
    assert "in which phase" in refused(run("scripts", "add", str(path)))
    assert "--options: not JSON" in refused(run("scripts", "add", str(path), "--phase", "preload", "--options", "{"))
    assert "phase 'late'" in refused(run("scripts", "add", str(path), "--phase", "late"))
    (tmp_path / "preload").mkdir()
    (tmp_path / "preload" / "B.ts").write_text("2;\n")
    assert "id 'B'" in refused(run("scripts", "import", str(tmp_path), "--phase", "preload"))
    for command in ("show", "disable", "enable", "rm"):
        assert "no script ../look" in refused(run("scripts", command, "../look"))
    assert desk.get("/api/scripts")["scripts"] == []
    said(run("scripts", "add", str(path), "--phase", "preload"))
    assert "no version 2" in refused(run("scripts", "show", "look", "--version", "2"))


def test_script_that_does_not_compile_is_refused_with_its_places(desk: Desk, run: Run, tmp_path: Path) -> None:
    good, wrong = tmp_path / "good.ts", tmp_path / "look.ts"
    good.write_text("const a: number = 1;\n")
    wrong.write_text("1;\nconst a: number = 'x';\n  nosuch();\n")
    result = run("scripts", "add", str(wrong), "--phase", "behavior")
    assert refused(result) == f"{wrong}: does not compile (2 mistakes); nothing was added"
    assert f"{wrong}:2:7: TS2322 Type 'string' is not assignable to type 'number'." in result.stderr
    assert f"{wrong}:3:3: TS2304 Cannot find name 'nosuch'" in result.stderr
    assert f"{wrong}: does not compile" in refused(run("scripts", "import", str(tmp_path), "--phase", "behavior"))
    assert desk.get("/api/scripts")["scripts"] == []
    wrong.write_text("const a = 2;\n")
    result = run("scripts", "import", str(tmp_path), "--phase", "behavior")
    assert "2 new versions" in said(result)  # a crawl may name one of them; those that name none are warned of
    assert "crawls that name no script will fail" in result.stderr
    assert "comity scripts disable good" in result.stderr
    wrong.write_text("const b = 2;\n")
    result = run("scripts", "add", str(wrong), "--phase", "behavior")
    assert "1 new version, 0 were" in said(result)
    assert result.stderr == ""


def test_without_a_compiler_a_script_is_added_unchecked_and_that_is_said(
    desk: Desk, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = dead_url()
    monkeypatch.setattr(commands_scripts, "compiler_of", lambda data: CompilerClient(nobody, "", ""))
    (tmp_path / "look.ts").write_text("nosuch();\n")
    result = run("scripts", "add", str(tmp_path / "look.ts"), "--phase", "behavior")
    assert "1 new version" in said(result)
    assert f"not checked whether what is added compiles: script compiler {nobody}" in result.stderr
