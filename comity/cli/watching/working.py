"""A worker in the foreground, with the ledger of the running stack or another one, until it is told to stop."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput, CliError

if TYPE_CHECKING:
    from blocks.clients.watch import WatchClient
    from comity.watch.building import Plan
    from flows.watch_run import WatchRun

SLICE_S = 0.2
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(min=1, max=2000, help="Pages in hand at once. Else COMITY_WATCH_CONCURRENCY, else 64."),
]
LedgerUrlOption = Annotated[
    str | None, typer.Option(help="A ledger elsewhere; else that of the running stack.", show_default=False)
]
TokenFileOption = Annotated[
    Path | None, typer.Option(help="With --ledger-url: file with a token of role `flows`.", show_default=False)
]
CaFileOption = Annotated[
    Path | None, typer.Option(help="With an https:// --ledger-url: its CA (PEM).", show_default=False)
]


def client_of(url: str | None, token_file: Path | None, ca_file: Path | None, data: Path | None) -> "WatchClient":
    """The ledger as its workers see it. Raises BadInput."""
    from blocks.clients.watch import WatchClient
    from comity.cli.stack.remote import require_stack

    if url is None:
        folder = data_folder(data)
        url, token_file = str(require_stack(folder).addresses["ledger"]), folder.ledger_token("flows")
    if token_file is None:
        raise BadInput("--token-file: is missing; --ledger-url goes with a file that holds a `flows` token")
    try:
        token, ca_pem = token_file.read_text().strip(), ca_file.read_text() if ca_file is not None else ""
        return WatchClient(url, token, ca_pem)
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"--ledger-url, --ca-file: {error}") from None


def planned(concurrency: int | None, *, dry_run: bool = False, rehearsal_ms: int = 0) -> "Plan":
    """A worker by this process's settings. Raises CliError naming the one that is wrong."""
    from comity.watch.errors import WatchError
    from comity.watch.settings import plan_of, read_settings

    try:
        return plan_of(read_settings(concurrency=concurrency), dry_run=dry_run, rehearsal_ms=rehearsal_ms)
    except WatchError as error:
        raise CliError(str(error)) from None


def work(
    client: "WatchClient", plan: "Plan", *, goes_on: "Callable[[WatchRun], bool]", token_file: Path | None = None
) -> "WatchRun":
    """Until it is over by itself, Ctrl-C or SIGTERM comes, or it is not to go on, asked many times a second.

    Everything has been given back then. `token_file`: as it was typed, to be named where the token is the wrong one.
    Raises CliError with what ended it.
    """
    from comity.watch.errors import WatchError
    from flows.watch_run import STOP_BUDGET_S, WatchRun, end_of

    run = WatchRun(plan, client)
    before = {number: signal.signal(number, lambda *_: run.stop()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with client:
            run.start()
            while not run.wait(SLICE_S):
                if not goes_on(run):
                    run.stop()
            run.wait(STOP_BUDGET_S)
            end_of(run)
    except (WatchError, RuntimeError) as error:
        raise CliError(_ending(error, client.url, token_file)) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return run


def _ending(error: Exception, url: str, token_file: Path | None) -> str:
    """What ended a worker. A ledger answers 404 to who may not make a call, so the token is to be spoken of there."""
    from blocks.clients.errors import ServiceRefused

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ServiceRefused):
        cause = cause.__cause__
    status = cause.status if cause is not None else None
    named = "" if token_file is None else f"--token-file {token_file}: "
    make = "`comity token create NAME --role flows` makes one"
    if status == 401 and token_file is not None:
        return f"{named}the ledger {url} does not take this token (401): unknown, expired or revoked; {make}"
    if status in (403, 404):
        return (
            f"{named}the ledger {url} gives this token no pages ({status}): a token of role `flows` is needed; {make}"
        )
    return str(error)
