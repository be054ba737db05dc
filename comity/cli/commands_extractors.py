"""`comity extractors`: the catalogue of extractors that crawls run over their captured pages."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.catalogue import VersionOption, check_known, print_state, print_versions, state_of, version_of
from comity.cli.commands_ledger import ledger_of
from comity.cli.options import DataOption, JsonOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from comity.contract.extraction import ExtractorView

extractors_app = typer.Typer(
    help="The catalogue of extractors that crawls run over their captured pages.", no_args_is_help=True
)
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The extractor's id.", show_default=False)]


@extractors_app.command("add")
def extractors_add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The extractor, a .kdl file.", show_default=False)],
    ident: Annotated[str | None, typer.Option("--id", help="Its id; else its own name.", show_default=False)] = None,
    description: Annotated[str, typer.Option(help="What it is for, in a sentence.", show_default=False)] = "",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an extractor with the files that it imports, or a new version of it.

    The same files are the version that is there already. Every mistake is drawn on its line, and nothing is added then.
    """
    from comity.cli.extractor_calls import add
    from comity.cli.extractor_files import read_extractor

    read = read_extractor(file, ident=ident, description=description)
    with ledger_of(data) as ledger:
        before = {one.id: one.version for one in ledger.extractors().extractors}
        added = add(ledger, read)
    _print([added], as_json=as_json)
    if not as_json:
        print("it was there already" if before.get(added.id) == added.version else f"version {added.version} is new")


@extractors_app.command("list")
def extractors_list(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the newest version of every extractor."""
    with ledger_of(data) as ledger:
        extractors = ledger.extractors().extractors
    _print(extractors, as_json=as_json)


@extractors_app.command("show")
def extractors_show(
    extractor: IdArgument,
    version: VersionOption = None,
    only_source: Annotated[bool, typer.Option("--source", help="Print the entry file and nothing else.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an extractor with its files."""
    with ledger_of(data) as ledger:
        check_known("extractor", extractor, ledger.extractors().extractors)
        found = version_of("extractor", extractor, version, lambda: ledger.extractor(extractor, version=version))
    if as_json:
        print(json.dumps(found.to_wire(), indent=2, ensure_ascii=False))
    elif only_source:
        print(found.source, end="")
    else:
        _print([found], as_json=False)
        print_versions(found)
        for path, source in ((found.file, found.source), *((one.path, one.source) for one in found.modules)):
            print(f"\n--- {path}\n{source}")


@extractors_app.command("disable")
def extractors_disable(extractor: IdArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Keep new crawls from running an extractor."""
    _enable(extractor, data, enabled=False, as_json=as_json)


@extractors_app.command("enable")
def extractors_enable(extractor: IdArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Let crawls run an extractor again."""
    _enable(extractor, data, enabled=True, as_json=as_json)


@extractors_app.command("rm")
def extractors_rm(extractor: IdArgument, data: DataOption = None) -> None:
    """Take an extractor out of the catalogue. Crawls that run it keep it; its version numbers are never used again."""
    with ledger_of(data) as ledger:
        check_known("extractor", extractor, ledger.extractors().extractors)
        ledger.remove_extractor(extractor)
    print(f"{extractor} removed")


def _print(extractors: "Sequence[ExtractorView]", *, as_json: bool) -> None:
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    if as_json:
        print(json.dumps([one.to_wire() for one in extractors], indent=2, ensure_ascii=False))
        return
    table = listing("extractor", "version", "state", "program", "what it is for")
    for one in extractors:
        table.add_row(one.id, str(one.version), state_of(one), one.name, Text(" ".join(one.description.split())))
    print_listing(table)


def _enable(extractor: str, data: DataOption, *, enabled: bool, as_json: bool) -> None:
    from comity.contract.extraction import ChangeExtractor

    with ledger_of(data) as ledger:
        check_known("extractor", extractor, ledger.extractors().extractors)
        changed = ledger.change_extractor(extractor, ChangeExtractor(enabled=enabled))
    if as_json:
        print(json.dumps(changed.to_wire(), indent=2, ensure_ascii=False))
    else:
        print_state(changed)
