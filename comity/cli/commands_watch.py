"""`comity watch`: the worker without Prefect, and the commands of those who keep pages."""

import sys

import typer

from comity.cli.data_folder import data_folder
from comity.cli.options import AllowPrivateOption, DataOption
from comity.cli.watching import change, files, lists, migrate, pages, preview, telling
from comity.cli.watching.working import (
    CaFileOption,
    ConcurrencyOption,
    LedgerUrlOption,
    TokenFileOption,
    client_of,
    planned,
    work,
)

watch_app = typer.Typer(help="Pages that are watched for updates.", no_args_is_help=True)


@watch_app.command("run")
def run(  # noqa: PLR0917 - typer reads options from parameters
    concurrency: ConcurrencyOption = None,
    ledger_url: LedgerUrlOption = None,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
    allow_private: AllowPrivateOption = None,
    data: DataOption = None,
) -> None:
    """Visit watched pages as they come due, until Ctrl-C or SIGTERM: then everything is given back within 5 s.

    Start as many as are wanted, on any machine: a host is visited by one of them at a time. Beside a running stack it
    visits what that stack may, --allow-private of `comity up` included.
    """
    import os

    from comity.cli.stack.remote import require_stack
    from comity.cli.watching.way_out import way_out
    from comity.polite.rules.addresses import ALLOW_SETTING, DENY_SETTING
    from flows.watch_run import end_of

    client = client_of(ledger_url, token_file, ca_file, data)
    stack = require_stack(data_folder(data)) if ledger_url is None else None
    out = way_out(allow_private, client.url, stack)
    os.environ[ALLOW_SETTING], os.environ[DENY_SETTING] = out.allow, out.deny
    plan = planned(concurrency)
    told = f"worker {plan.name} watches pages {out.told()}, {plan.worker.concurrency} at once"
    print(told, file=sys.stderr, flush=True)
    print(end_of(work(client, plan, goes_on=lambda _: True, token_file=token_file)))


watch_app.command("preview")(preview.preview)
watch_app.command("add")(pages.add)
watch_app.command("set")(change.change)
watch_app.command("import")(files.import_file)
watch_app.command("export")(files.export_file)
watch_app.command("pages")(pages.pages)
watch_app.command("show")(pages.show)
watch_app.command("diff")(pages.diff)
watch_app.command("now")(pages.now)
watch_app.command("pause")(pages.pause)
watch_app.command("resume")(pages.resume)
watch_app.command("rm")(pages.remove)
watch_app.command("lists")(lists.lists)
watch_app.command("list")(lists.show_list)
watch_app.command("rm-list")(lists.remove_list)
watch_app.add_typer(telling.channels_app, name="channels")
watch_app.add_typer(telling.feeds_app, name="feeds")
watch_app.add_typer(migrate.migrate_app, name="migrate")
