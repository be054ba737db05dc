"""The `comity` command. Commands import what they need when they run: `comity --help` loads no Prefect."""

import os
import sys
from typing import Annotated

import typer

from comity.cli import (
    commands_archive,
    commands_audit,
    commands_crawl,
    commands_export,
    commands_extract,
    commands_extractors,
    commands_found,
    commands_ledger,
    commands_scripts,
    commands_space,
    commands_targets,
    commands_token,
    commands_watch,
)
from comity.cli.data_folder import data_folder
from comity.cli.errors import CliError
from comity.cli.options import AllowPrivateOption, DataOption, JsonOption

app = typer.Typer(
    name="comity",
    help="Polite web capture: crawls level by level with a real browser and keeps replayable archives.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
blocks_app = typer.Typer(help="The Prefect Blocks that hold every address and token.", no_args_is_help=True)
app.add_typer(blocks_app, name="blocks")
app.add_typer(commands_targets.targets_app, name="targets")
app.add_typer(commands_scripts.scripts_app, name="scripts")
app.add_typer(commands_token.token_app, name="token")
app.add_typer(commands_archive.signing_app, name="signing")
app.add_typer(commands_extract.extract_app, name="extract")
commands_extract.extract_app.command("export")(commands_export.export)
app.add_typer(commands_extractors.extractors_app, name="extractors")
app.add_typer(commands_found.archives_app, name="archives")
app.add_typer(commands_watch.watch_app, name="watch")
app.command("search")(commands_found.search)
app.command("reconcile")(commands_found.reconcile)
app.command("crawl")(commands_crawl.crawl)
app.command("cancel")(commands_ledger.cancel)
app.command("audit")(commands_audit.audit)
app.command("replay")(commands_archive.replay)
app.command("verify")(commands_archive.verify)
app.command("backup")(commands_space.backup)
app.command("prune")(commands_space.prune)

DEBUG_VARIABLE = "COMITY_DEBUG"


def main() -> None:
    """Runs the command. Whatever goes wrong is one line on standard error and an exit status, never a stack trace."""
    try:
        app(prog_name="comity")
    except CliError as error:
        fail(str(error), error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        from blocks.clients.errors import ServiceError

        if isinstance(error, ServiceError):
            fail(str(error), 1)
        if os.environ.get(DEBUG_VARIABLE):
            raise
        said = " ".join(str(error).split()) or "no message"
        fail(f"unexpected {type(error).__name__}: {said} (set {DEBUG_VARIABLE}=1 to see where)", 1)


def fail(message: str, exit_code: int) -> None:
    print(f"comity: {message}", file=sys.stderr, flush=True)
    sys.exit(exit_code)


@app.command()
def up(
    data: DataOption = None,
    browsers: Annotated[int, typer.Option(min=1, max=32, help="How many capture servers, one browser each.")] = 2,
    allow_private: AllowPrivateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start every service of this machine as one tree, and keep it up until Ctrl-C or `comity down`.

    Ledger, script compiler, capture servers, Prefect server and workers listen on loopback only. With --json, one line
    on standard output says when all is ready and where.
    """
    from comity.cli.allowance import allowance
    from comity.cli.stack.up import embedded_stack, run_stack
    from comity.cli.stack.voice import UpVoice

    planner = embedded_stack(browsers, allowance(allow_private).text)
    run_stack(data_folder(data), planner, UpVoice(as_json=as_json).observers())


@app.command()
def down(data: DataOption = None) -> None:
    """End the stack that runs on the data folder."""
    from comity.cli.stack.remote import end_stack

    pid = end_stack(data_folder(data))
    print(f"the stack (pid {pid}) has ended")


@app.command()
def status(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Which parts run, where they listen, and the crawls under way.

    Exit 1 where no stack runs or a part is not ready.
    """
    from comity.cli.status import show_status

    raise typer.Exit(show_status(data_folder(data), as_json=as_json))


@app.command()
def env(data: DataOption = None) -> None:
    """Print export lines for a shell: `eval "$(comity env)"`, then `prefect deployment run ...` reaches the stack."""
    from comity.cli.stack.remote import shell_environment

    for name, value in shell_environment(data_folder(data)).items():
        print(f"export {name}={value}")


@app.command()
def doctor(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check every link of the chain, from here and from a flow run on the pool, and name the fix.

    Exit 1 where a link fails.
    """
    from comity.cli.stack.remote import use_prefect_of

    folder = data_folder(data)
    use_prefect_of(folder)  # before Prefect is imported, which reads its settings then
    from comity.cli.doctor.command import run_doctor

    raise typer.Exit(run_doctor(folder, as_json=as_json))


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    print(installed("comity"))


def _flag(name: str, meaning: str) -> typer.models.OptionInfo:
    variable = f"COMITY_{name.replace('-', '_').upper()}"
    option: typer.models.OptionInfo = typer.Option(f"--{name}", help=f"{meaning} Else {variable}.", show_default=False)
    return option


@blocks_app.command("init")
def blocks_init(  # noqa: PLR0917 - typer reads options from parameters
    ledger_url: Annotated[str | None, _flag("ledger-url", "The ledger's URL.")] = None,
    ledger_token_file: Annotated[
        str | None, _flag("ledger-token-file", "File with the ledger's `flows` token.")
    ] = None,
    ledger_trigger_token_file: Annotated[
        str | None, _flag("ledger-trigger-token-file", "File with the token that trigger-crawl starts crawls with.")
    ] = None,
    ledger_ca_file: Annotated[
        str | None, _flag("ledger-ca-file", "CA certificate (PEM) of an https:// ledger.")
    ] = None,
    capture_urls: Annotated[str | None, _flag("capture-urls", "Capture servers, separated by commas.")] = None,
    capture_token_file: Annotated[
        str | None, _flag("capture-token-file", 'File with the capture servers\' token; "" for none.')
    ] = None,
    capture_ca_file: Annotated[str | None, _flag("capture-ca-file", "CA certificate of https:// servers.")] = None,
    slots_per_endpoint: Annotated[str | None, _flag("slots-per-endpoint", "Captures at once per server (1).")] = None,
    compiler_url: Annotated[str | None, _flag("compiler-url", "The script compiler's URL.")] = None,
    compiler_token_file: Annotated[
        str | None, _flag("compiler-token-file", 'File with the compiler\'s token; "" for none.')
    ] = None,
    compiler_ca_file: Annotated[
        str | None, _flag("compiler-ca-file", "CA certificate of an https:// compiler.")
    ] = None,
) -> None:
    """Create or update the three Blocks named `comity` on the Prefect server of PREFECT_API_URL.

    Values come from the flags, then from the environment. For the embedded stack they are set by `comity up`.
    """
    from comity.cli.blocks_init import BlockSettings, keep_blocks

    flags = {
        "ledger-url": ledger_url,
        "ledger-token-file": ledger_token_file,
        "ledger-trigger-token-file": ledger_trigger_token_file,
        "ledger-ca-file": ledger_ca_file,
        "capture-urls": capture_urls,
        "capture-token-file": capture_token_file,
        "capture-ca-file": capture_ca_file,
        "slots-per-endpoint": slots_per_endpoint,
        "compiler-url": compiler_url,
        "compiler-token-file": compiler_token_file,
        "compiler-ca-file": compiler_ca_file,
    }
    for line in keep_blocks(BlockSettings.resolve(flags)):
        print(line)


if __name__ == "__main__":
    main()
