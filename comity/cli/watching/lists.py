"""`comity watch lists|list`: antennas, which show their pages by the time of the last update."""

import json
from typing import Annotated

import typer

from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import keeper, list_of

ListArgument = Annotated[str, typer.Argument(metavar="LIST", help="Its name or its id.", show_default=False)]


def lists(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the lists of watched pages."""
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    with keeper(data) as ledger:
        found = ledger.watch_lists().lists
    if as_json:
        print(json.dumps([one.to_wire() for one in found], indent=2, ensure_ascii=False))
        return
    table = listing("list", "pages", "name")
    for one in found:
        table.add_row(one.list_id, str(one.pages), Text(one.name))
    print_listing(table)


def show_list(
    name: ListArgument,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many pages.")] = 50,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a list: its pages, the newest update first, and how fresh it is."""
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    with keeper(data) as ledger:
        ident = list_of(ledger, name)
        found = ledger.listed_pages(ident, limit=limit)
        fresh = ledger.freshness(ident)
    if as_json:
        print(json.dumps({**found.to_wire(), "freshness": fresh.to_wire()}, indent=2, ensure_ascii=False))
        return
    table = listing("updated", "page", "title", "url")
    for page in found.pages:
        updated = f"{page.updated_at:%Y-%m-%d %H:%M}" if page.updated_at else "never"
        table.add_row(updated, page.page_id, Text(page.title or "(no title yet)"), Text(page.url))
    print_listing(table)
    print(
        f"{fresh.pages} pages: {fresh.visited_within_hour} seen within an hour, {fresh.visited_within_day} within "
        f"a day, {fresh.late} late, {fresh.failing} failing, {fresh.paused} paused, {fresh.never} never visited"
    )


def remove_list(name: ListArgument, data: DataOption = None) -> None:
    """Remove a list. Its pages stay."""
    with keeper(data) as ledger:
        ident = list_of(ledger, name)
        ledger.remove_list(ident)
    print(f"{ident} removed")
