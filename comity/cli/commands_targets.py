"""`comity targets`: the URLs that crawls from targets begin at."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.commands_ledger import ledger_of
from comity.cli.errors import BadInput
from comity.cli.options import DataOption, JsonOption
from comity.cli.reading import STDIN, head_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from blocks.clients.ledger import LedgerClient
    from comity.contract.ledger import AddTargets, TargetView

targets_app = typer.Typer(help="URLs that the nightly crawl begins from.", no_args_is_help=True)

MAX_FILE_BYTES = 8 * 1024 * 1024
"""What the ledger takes in one call, all or none."""
TargetId = Annotated[str, typer.Argument(metavar="TARGET", help="Its id or its URL.", show_default=False)]
LabelOption = Annotated[list[str] | None, typer.Option("--label", help="For your own order; repeatable.")]


@targets_app.command("add")
def targets_add(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", show_default=False)],
    label: LabelOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add URLs, all or none. One that is there already stays as it is."""
    from comity.cli.crawl_request import check_url
    from comity.contract.ledger import AddTargets

    for url in urls:
        check_url(url)
    _add(data, lambda: AddTargets(urls=urls, labels=label or []), as_json=as_json)


@targets_app.command("import")
def targets_import(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A text or CSV file; - for standard input.")],
    label: LabelOption = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The file is CSV, whatever its name: URL, then labels.")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the URLs of a file, all or none: one to a line, or CSV (`*.csv`) with the URL first and labels after it.

    Empty lines and lines that begin with # are skipped. A line that is wrong is named, and then nothing is added.
    """
    from comity.cli.target_list import read_targets

    name = "standard input" if file == STDIN else file
    text = _read(file, name)
    wanted = read_targets(text, name, as_csv=as_csv or file.lower().endswith(".csv"), labels=label or [])
    _add(data, lambda: wanted, as_json=as_json)


@targets_app.command("list")
def targets_list(
    label: Annotated[
        list[str] | None, typer.Option("--label", help="Only those with this label; repeatable: with all of them.")
    ] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Only those.", show_default=False)
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the targets, in the order that crawls begin at them."""
    with ledger_of(data) as ledger:
        targets = ledger.targets(labels=label or (), enabled=enabled).targets
    if as_json:
        print(json.dumps([target.to_wire() for target in targets], indent=2))
    else:
        _print(targets)


@targets_app.command("disable")
def targets_disable(target: TargetId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Leave a target out of the nightly crawl."""
    _enable(target, data, enabled=False, as_json=as_json)


@targets_app.command("enable")
def targets_enable(target: TargetId, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Take a target back into the nightly crawl."""
    _enable(target, data, enabled=True, as_json=as_json)


@targets_app.command("rm")
def targets_rm(target: TargetId, data: DataOption = None) -> None:
    """Remove a target. Its captures stay."""
    with ledger_of(data) as ledger:
        found = _find(ledger, target)
        ledger.remove_target(found)
    print(f"{found} removed")


def _read(file: str, name: str) -> str:
    try:
        content = head_of(file, MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise BadInput(f"{name}: is over {MAX_FILE_BYTES} bytes; split it")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BadInput(f"{name}:{line}: is not UTF-8; nothing was added") from None


def _add(data: DataOption, request: "Callable[[], AddTargets]", *, as_json: bool) -> None:
    from pydantic import ValidationError

    from blocks.clients.errors import ServiceRefused

    try:
        wanted = request()
    except ValidationError as error:
        raise BadInput(f"--label: {error.errors()[0]['msg']}") from None
    with ledger_of(data) as ledger:
        try:
            added = ledger.add_targets(wanted)
        except ServiceRefused as refusal:
            if refusal.status not in (400, 413):
                raise
            named = "; ".join(f"{one.field}: {one.message}" for one in refusal.fields)
            raise BadInput(f"{named or refusal.message}; nothing was added") from None
    if as_json:
        print(json.dumps(added.to_wire(), indent=2))
        return
    _print(added.targets)
    print(f"{added.added} added, {len(added.targets) - added.added} were there already")


def _print(targets: "list[TargetView]") -> None:
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    table = listing("target", "url", "state", "labels")
    for target in targets:
        state = "enabled" if target.enabled else "disabled"
        table.add_row(target.id, Text(target.url), state, Text(", ".join(target.labels)))
    print_listing(table)


def _enable(target: str, data: DataOption, *, enabled: bool, as_json: bool) -> None:
    from comity.contract.ledger import ChangeTarget

    with ledger_of(data) as ledger:
        changed = ledger.change_target(_find(ledger, target), ChangeTarget(enabled=enabled))
    if as_json:
        print(json.dumps(changed.to_wire(), indent=2))
    else:
        print(f"{changed.id}  {changed.url}  {'enabled' if changed.enabled else 'disabled'}")


def _find(ledger: "LedgerClient", target: str) -> str:
    for known in ledger.targets().targets:
        if target in (known.id, known.url):
            return known.id
    raise BadInput(f"no target {target}: `comity targets list` shows them")
