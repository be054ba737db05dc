"""`comity scripts`: the catalogue of scripts that run inside captured pages."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.catalogue import VersionOption, check_known, print_state, print_versions, state_of, version_of
from comity.cli.commands_ledger import ledger_of
from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput
from comity.cli.options import DataOption, JsonOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blocks.clients.compiler import CompilerClient
    from comity.cli.script_files import ScriptFile
    from comity.contract.ledger import ScriptView

scripts_app = typer.Typer(help="The catalogue of scripts that run in captured pages.", no_args_is_help=True)

ScriptIdArgument = Annotated[str, typer.Argument(metavar="ID", help="The script's id.", show_default=False)]
PhaseOption = Annotated[
    str | None,
    typer.Option("--phase", help="preload or behavior, where the file does not say.", show_default=False),
]


@scripts_app.command("add")
def scripts_add(  # noqa: PLR0917 - typer reads options from parameters
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TypeScript file.", show_default=False)],
    ident: Annotated[str | None, typer.Option("--id", help="Its id; else the file's name.", show_default=False)] = None,
    phase: PhaseOption = None,
    options: Annotated[
        str | None,
        typer.Option(help="Its options as a JSON object; else the .json file beside it.", show_default=False),
    ] = None,
    description: Annotated[str | None, typer.Option(help="What it does, in a sentence.", show_default=False)] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a script, or a new version of it. The same bytes, phase and options are the version that is there already.

    It is compiled first, and one that does not compile is not added.
    A file may say itself what it is, in its first comment lines: `// id: look`, `// phase: preload`,
    `// description: ...`; what is typed goes before that.
    """
    from comity.cli.script_files import parse_options, read_script

    typed = {
        "id": ident,
        "phase": phase,
        "description": description,
        "options": None if options is None else parse_options(options, "--options"),
    }
    _add([read_script(file, {name: value for name, value in typed.items() if value is not None})], data, as_json)


@scripts_app.command("import")
def scripts_import(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", show_default=False)],
    phase: PhaseOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add every script of a folder: `*.ts` in it and in its sub-folders `preload` and `behavior`.

    The file's name is the id, the sub-folder the phase, and a `.json` file of the same name holds the options; what the
    file says itself in its first comment lines goes before them. Everything is read and compiled before anything is
    added.
    """
    from comity.cli.script_files import read_folder

    _add(read_folder(folder, phase), data, as_json)


@scripts_app.command("list")
def scripts_list(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the newest version of every script, in the order that they run."""
    with ledger_of(data) as ledger:
        scripts = ledger.scripts().scripts
    _print(scripts, as_json=as_json)


@scripts_app.command("show")
def scripts_show(
    script: ScriptIdArgument,
    version: VersionOption = None,
    only_source: Annotated[bool, typer.Option("--source", help="Print the source and nothing else.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a script with its source."""
    with ledger_of(data) as ledger:
        check_known("script", script, ledger.scripts().scripts)
        found = version_of("script", script, version, lambda: ledger.script(script, version=version))
    if as_json:
        print(json.dumps(found.to_wire(), indent=2))
    elif only_source:
        print(found.source, end="")
    else:
        _print([found], as_json=False)
        print_versions(found)
        print(f"options   {json.dumps(found.options)}\n")
        print(found.source)


@scripts_app.command("disable")
def scripts_disable(script: ScriptIdArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Leave a script out of crawls that name none."""
    _enable(script, data, enabled=False, as_json=as_json)


@scripts_app.command("enable")
def scripts_enable(script: ScriptIdArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Take a script back into crawls that name none."""
    _enable(script, data, enabled=True, as_json=as_json)


@scripts_app.command("rm")
def scripts_rm(script: ScriptIdArgument, data: DataOption = None) -> None:
    """Take a script out of the catalogue. Crawls that run it keep it; its version numbers are never used again."""
    with ledger_of(data) as ledger:
        check_known("script", script, ledger.scripts().scripts)
        ledger.remove_script(script)
    print(f"{script} removed")


def compiler_of(data: DataOption) -> "CompilerClient":
    """The script compiler of the stack that runs on the data folder. Raises NoStack."""
    from blocks.clients.compiler import CompilerClient
    from comity.cli.stack.parts import COMPILER
    from comity.cli.stack.remote import require_stack

    folder = data_folder(data)
    return CompilerClient(str(require_stack(folder).addresses[COMPILER]), folder.secret(COMPILER), "")


def _add(files: "Sequence[ScriptFile]", data: DataOption, as_json: bool) -> None:
    from blocks.clients.errors import ServiceRefused
    from comity.cli.console import counted
    from comity.cli.script_check import check_scripts, warn_of_clash

    added: list[ScriptView] = []
    with ledger_of(data) as ledger, compiler_of(data) as compiler:
        checked = check_scripts(files, compiler)
        before = {script.id: script.version for script in ledger.scripts().scripts}
        for file in files:
            try:
                added.append(ledger.add_script(file.script))
            except ServiceRefused as refusal:
                if refusal.status not in (400, 413):
                    raise
                named = "; ".join(f"{one.field}: {one.message}" for one in refusal.fields)
                there = f"; {', '.join(one.id for one in added)} went in before" if added else ""
                raise BadInput(f"{file.path}: {named or refusal.message}{there}") from None
        if checked:
            warn_of_clash(ledger, compiler)
    _print(added, as_json=as_json)
    if not as_json:
        new = sum(before.get(script.id) != script.version for script in added)
        known = len(added) - new
        print(f"{counted(new, 'new version')}, {known} {'was' if known == 1 else 'were'} there already")


def _print(scripts: "Sequence[ScriptView]", *, as_json: bool) -> None:
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    if as_json:
        print(json.dumps([script.to_wire() for script in scripts], indent=2))
        return
    table = listing("script", "version", "phase", "state", "what it does")
    for script in scripts:
        description = " ".join(script.description.split())
        table.add_row(script.id, str(script.version), script.phase, state_of(script), Text(description))
    print_listing(table)


def _enable(script: str, data: DataOption, *, enabled: bool, as_json: bool) -> None:
    from comity.contract.ledger import ChangeScript

    with ledger_of(data) as ledger:
        check_known("script", script, ledger.scripts().scripts)
        changed = ledger.change_script(script, ChangeScript(enabled=enabled))
    if as_json:
        print(json.dumps(changed.to_wire(), indent=2))
    else:
        print_state(changed)
