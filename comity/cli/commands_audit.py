"""`comity audit`: options in, exit status out."""

import json
from typing import Annotated

import typer

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput
from comity.cli.options import DataOption, JsonOption


def audit(
    crawl: Annotated[
        str | None, typer.Argument(metavar="CRAWL", help="The crawl's id; or --all.", show_default=False)
    ] = None,
    all_crawls: Annotated[bool, typer.Option("--all", help="Every crawl that the ledger knows.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Was every host given the rest that it was promised? From the visits that the ledger keeps, across crawls.

    Exit 1 where a visit came too soon after another one, by whichever crawl; each is shown with both visits.
    """
    if (crawl is None) is not all_crawls:
        raise BadInput("give a crawl's id, or --all")
    from blocks.clients.errors import ServiceRefused
    from comity.cli.audit_view import audit_json, audits_of, render_audit
    from comity.cli.console import output
    from comity.cli.ledger_access import operator_client
    from comity.cli.stack.remote import require_stack

    folder = data_folder(data)
    with operator_client(folder, require_stack(folder)) as ledger:
        try:
            audits = list(audits_of(ledger, crawl))
        except ServiceRefused as refusal:
            if refusal.status == 404:
                raise BadInput(f"no crawl {crawl}: `comity status` lists them") from None
            raise
    kept = all(one.kept for one in audits)
    if as_json:
        print(json.dumps({"kept": kept, "hosts": audit_json(audits)}, indent=2))
    else:
        output().print(render_audit(audits))
    raise typer.Exit(0 if kept else 1)
