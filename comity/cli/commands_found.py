"""Commands about what was captured, as the ledger of the running stack knows it: search, archives, reconcile."""

import json
import sys
from typing import Annotated

import typer

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput, CliError
from comity.cli.options import DataOption, JsonOption

archives_app = typer.Typer(help="The archives of all crawls, newest first.", no_args_is_help=True)

LimitOption = Annotated[int, typer.Option("--limit", min=1, max=200, help="How many at most.")]


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", show_default=False)],
    limit: LimitOption = 20,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find captured pages by what they say.

    Words are found whole, in any order; a phrase stands in double quotes, within the shell's own: `'"brown fox"'`. Of
    scripts without spaces any piece is found. Exit 1 where nothing is.
    """
    from blocks.clients.errors import ServiceRefused
    from comity.cli.ledger_access import running_ledger
    from ledger.rules.query import has_open_quote

    with running_ledger(data_folder(data)) as ledger:
        try:
            found = ledger.search(" ".join(query), limit=limit)
        except ServiceRefused as refusal:
            raise BadInput(f"QUERY: {refusal.message}") from None
    if has_open_quote(" ".join(query)):
        print("the last quote is not closed: all that follows it was taken for one phrase", file=sys.stderr)
    if as_json:
        print(json.dumps(found.to_wire(), indent=2, ensure_ascii=False))
    else:
        for hit in found.hits:
            print(f"{hit.archive_id}  {hit.url}  {hit.title}\n    {hit.snippet}")
        more = found.total - len(found.hits)
        print(f"{found.total} found" + (f", {more} of them not shown: --limit" if more > 0 else ""))
    if not found.hits:
        raise typer.Exit(1)


@archives_app.command("list")
def archives_list(
    limit: LimitOption = 50,
    before: Annotated[
        str | None, typer.Option("--before", help="Where the list before this one ended.", show_default=False)
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List archives: id, time, crawl and URL."""
    from blocks.clients.errors import ServiceRefused
    from comity.cli.ledger_access import running_ledger

    with running_ledger(data_folder(data)) as ledger:
        try:
            found = ledger.archives(before=before, limit=limit)
        except ServiceRefused as refusal:
            raise BadInput(f"--before: {refusal.message}") from None
    if as_json:
        print(json.dumps(found.to_wire(), indent=2, ensure_ascii=False))
        return
    for one in found.archives:
        title = f"  {one.title}" if one.title else ""
        print(f"{one.id}  {one.captured_at:%Y-%m-%d %H:%M:%S}  {one.crawl_id}  {one.url}{title}")
    if found.next is not None:
        print(f"more: --before {found.next}")


@archives_app.command("url")
def archives_url(
    archive: Annotated[str, typer.Argument(metavar="ARCHIVE", help="Its id.", show_default=False)],
    data: DataOption = None,
) -> None:
    """Print a URL that reads the archive for five minutes, without a token."""
    from blocks.clients.errors import ServiceRefused
    from comity.cli.ledger_access import running_ledger

    with running_ledger(data_folder(data)) as ledger:
        try:
            print(ledger.archive_url(archive).url)
        except ServiceRefused as refusal:
            if refusal.status == 404:
                raise BadInput(f"no archive {archive}: `comity archives list` shows them") from None
            raise CliError(f"archive {archive}: {refusal.message}") from None


def reconcile(
    crawl: Annotated[
        str | None, typer.Argument(metavar="[CRAWL]", help="One crawl, however old; else the recent ones.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make good what was missed: manifests that came late, captures that nobody reported, pages not indexed.

    The ledger does the same by itself, every half minute, for what is recent.
    """
    from blocks.clients.errors import ServiceRefused
    from comity.cli.ledger_access import running_ledger

    with running_ledger(data_folder(data)) as ledger:
        try:
            done = ledger.reconcile(crawl)
        except ServiceRefused as refusal:
            if refusal.status == 404:
                raise BadInput(f"no crawl {crawl}: `comity status` lists them") from None
            raise
    if as_json:
        print(json.dumps(done.to_wire(), indent=2))
        return
    print(
        f"{done.adopted} captures adopted; {done.admitted} late manifests admitted, {done.absent} given up,"
        f" {done.waiting} still to come; {done.indexed} pages searchable"
    )
