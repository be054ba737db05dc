"""What commands ask of the ledger of the running stack, and `comity cancel`."""

from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput, CliError
from comity.cli.options import DataOption

if TYPE_CHECKING:
    from blocks.clients.ledger import LedgerClient


def ledger_of(data: DataOption) -> "LedgerClient":
    """The ledger of the stack that runs on the data folder. Raises NoStack."""
    from comity.cli.ledger_access import running_ledger

    return running_ledger(data_folder(data))


def cancel(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="The crawl's id.", show_default=False)],
    data: DataOption = None,
) -> None:
    """Cancel a crawl and its run. What was captured stays."""
    from blocks.clients.errors import ServiceRefused

    with ledger_of(data) as ledger:
        try:
            ledger.cancel(crawl)
        except ServiceRefused as refusal:
            if refusal.status == 404:
                raise BadInput(f"no crawl {crawl}: `comity status` lists them") from None
            if refusal.status == 409:
                raise CliError(refusal.message) from None
            raise
    print(f"crawl {crawl} is cancelled")
