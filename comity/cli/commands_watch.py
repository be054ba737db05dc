"""`comity watch`: the worker without Prefect, and a look at a page before it is watched."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput, CliError
from comity.cli.options import AllowPrivateOption, DataOption
from comity.cli.watching import files, lists, migrate, pages, preview, telling

if TYPE_CHECKING:
    from blocks.clients.watch import WatchClient

watch_app = typer.Typer(help="Pages that are watched for updates.", no_args_is_help=True)
SLICE_S = 0.2


@watch_app.command("run")
def run(  # noqa: PLR0917 - typer reads options from parameters
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, max=2000, help="Pages in hand at once. Else COMITY_WATCH_CONCURRENCY, else 64."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Claim pages that another system visits still, and only sleep.")
    ] = False,
    rehearsal_ms: Annotated[
        int, typer.Option(min=0, max=600_000, help="With --dry-run: how long a page takes.")
    ] = 1000,
    ledger_url: Annotated[
        str | None, typer.Option(help="A ledger elsewhere; else that of the running stack.", show_default=False)
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="With --ledger-url: file with a `flows` token.", show_default=False)
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="With an https:// --ledger-url: its CA (PEM).", show_default=False)
    ] = None,
    allow_private: AllowPrivateOption = None,
    data: DataOption = None,
) -> None:
    """Visit watched pages as they come due, until Ctrl-C or SIGTERM: then everything is given back within 5 s.

    Start as many as are wanted, on any machine: a host is visited by one of them at a time.
    """
    import os

    from comity.cli.allowance import allowance, own_endpoints
    from comity.polite.rules.addresses import ALLOW_SETTING, DENY_SETTING
    from comity.polite.rules.literals import literal_address
    from comity.watch.errors import WatchError
    from comity.watch.settings import plan_of, read_settings
    from flows.watch_run import STOP_BUDGET_S, WatchRun, end_of

    client = _client(ledger_url, token_file, ca_file, data)
    os.environ[ALLOW_SETTING] = allowance(allow_private).text
    parts = urlsplit(client.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if literal_address(parts.hostname or "") is not None:  # the list takes no names
        os.environ[DENY_SETTING] = own_endpoints([(parts.hostname or "", port)])
    try:
        plan = plan_of(read_settings(concurrency=concurrency), dry_run=dry_run, rehearsal_ms=rehearsal_ms)
        with client:
            watching = WatchRun(plan, client)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: watching.stop())
            watching.start()
            print(f"worker {plan.name} watches pages, {plan.worker.concurrency} at once", file=sys.stderr, flush=True)
            while not watching.wait(SLICE_S):
                pass
            watching.wait(STOP_BUDGET_S)
            print(end_of(watching))
    except (WatchError, RuntimeError) as error:
        raise CliError(str(error)) from None


def _client(
    url: str | None, token_file: Path | None, ca_file: Path | None, data: Path | None, *, role: str = "flows"
) -> "WatchClient":
    from blocks.clients.watch import WatchClient
    from comity.cli.stack.remote import require_stack

    if url is None:
        folder = data_folder(data)
        url, token_file = str(require_stack(folder).addresses["ledger"]), folder.ledger_token(role)
    if token_file is None:
        raise BadInput("--token-file: is missing; --ledger-url goes with a file that holds a `flows` token")
    try:
        token, ca_pem = token_file.read_text().strip(), ca_file.read_text() if ca_file is not None else ""
        return WatchClient(url, token, ca_pem)
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"--ledger-url, --ca-file: {error}") from None


watch_app.command("preview")(preview.preview)
watch_app.command("add")(pages.add)
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
