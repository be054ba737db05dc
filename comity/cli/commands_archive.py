"""Commands about archives: look at them, check them."""

from pathlib import Path
from typing import Annotated

import typer

from comity.cli.data_folder import data_folder
from comity.cli.options import DataOption, JsonOption

signing_app = typer.Typer(help="Keys for signed archives.", no_args_is_help=True)


def replay(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...|CRAWL", help="WACZ files or folders of them, or a crawl's id.", show_default=False
        ),
    ],
    data: DataOption = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address; open no browser.")] = False,
) -> None:
    """Show archives as the pages that they were, in your browser, with ReplayWeb.page. Ctrl-C ends it.

    They are served on a loopback port of their own, and nothing is fetched from the live web. A crawl's pages come from
    the ledger of the stack that runs on the data folder.
    """
    from comity.cli.replay.command import run_replay

    run_replay(what, data_folder(data), open_browser=not no_open)


@signing_app.command("init")
def signing_init(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the files.", show_default=False)],
) -> None:
    """Make a development CA with one signing certificate, and print the settings that use them.

    For trying signatures out: every name in it says NOT FOR PRODUCTION, and nobody trusts it. Time stamps come from an
    authority of your choice.
    """
    from comity.cli.signing import init_signing

    for line in init_signing(out):
        print(line)


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A WACZ, of any maker.", show_default=False)],
    trust: Annotated[
        list[Path] | None,
        typer.Option("--trust", metavar="PEM", help="Roots that signature and time stamp must lead to; repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a WACZ step by step and explain each: container, hashes, records, index, pages, signature, time stamp.

    Without --trust, a signature's chain is compared with this machine's trusted certificates, and one that leads
    elsewhere is named and left to you. Exit: 0 nothing failed, 1 something did, 2 the file cannot be read.
    """
    from comity.cli.verify import run_verify

    raise typer.Exit(run_verify(file, trust or [], as_json=as_json))
