"""`comity extract …`: options in, exit status out."""

from pathlib import Path
from typing import Annotated

import typer

from comity.cli.options import DataOption, JsonOption

extract_app = typer.Typer(help="Typed data out of pages, by extractors that you write.", no_args_is_help=True)
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The extractor, a .kdl file.", show_default=False)]


@extract_app.command("check")
def check(file: FileArgument, as_json: JsonOption = False) -> None:
    """Check an extractor and everything that it imports, without a request.

    Every mistake is drawn on its line. Exit 1 where there is one.
    """
    from comity.cli.extract_view import run_check

    raise typer.Exit(run_check(file, as_json=as_json))


@extract_app.command("ir")
def ir(file: FileArgument, as_json: JsonOption = False) -> None:
    """Print the checked program as canonical JSON, for other runtimes.

    Mistakes go to standard error, or as JSON to standard output with --json. Exit 1 where there is one.
    """
    from comity.cli.extract_view import run_ir

    raise typer.Exit(run_ir(file, as_json=as_json))


@extract_app.command("schema")
def schema(file: FileArgument) -> None:
    """Print the JSON Schema of what an extractor gives. Exit 1, nothing printed, where it has mistakes."""
    import json

    from comity.cli.extraction.programs import MISTAKES, ready_program

    program = ready_program(file)
    if program is None:
        raise typer.Exit(MISTAKES)
    print(json.dumps(program.json_schema(), indent=2, ensure_ascii=False))


@extract_app.command("run")
def run(  # noqa: PLR0917 - typer reads options from parameters
    file: FileArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="An input; repeatable.", show_default=False),
    ] = None,
    inputs_file: Annotated[
        str | None,
        typer.Option("--inputs", metavar="FILE", help="Inputs of many pages: .csv, .jsonl, or -.", show_default=False),
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="This page instead of the extractor's own.", show_default=False)
    ] = None,
    urls_file: Annotated[
        str | None,
        typer.Option("--urls", metavar="FILE", help="Many pages, a URL on each line, or -.", show_default=False),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A page that is there already, or -; nothing is sent.", show_default=False),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Headers and cookies as JSON, or -. Nobody else may be able to read the file.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document (this is so without it).")] = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="A line of JSON for each page.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV, a line for each page.")] = False,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="COLLECTION", help="With --csv: a line for each row of it; a.b for nested ones.", show_default=False
        ),
    ] = None,
    allow_private_hosts: Annotated[
        bool, typer.Option("--allow-private-hosts", help="Also visit addresses that are not of the public web.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=3600, metavar="SECONDS", help="For each page: 30, in a browser 150.", show_default=False
        ),
    ] = None,
    per_host_delay_ms: Annotated[
        int, typer.Option(min=0, max=600_000, help="Many pages: the rest between two of the same host.")
    ] = 2000,
    hosts_at_once: Annotated[int, typer.Option(min=1, max=32, help="Many pages: how many hosts at a time.")] = 4,
    ignore_robots: Annotated[
        bool, typer.Option("--ignore-robots", help="Many pages: do not ask for robots.txt. For sites of your own.")
    ] = False,
    data: DataOption = None,
) -> None:
    """Run an extractor: over its page, over a page that is there (--html), or politely over many.

    The result goes to standard output, everything else to standard error. Exit 0 where every page gave its result
    (warnings or not), 1 for mistakes in the extractor, which are told before anything is sent, and for pages without a
    result, 2 for options that cannot be meant, 130 when interrupted.
    """
    from comity.cli.data_folder import data_folder
    from comity.cli.errors import BadInput
    from comity.cli.extraction.politeness import Manners
    from comity.cli.extraction.run import RunRequest
    from comity.cli.extraction.run import run as run_extractor

    kinds = [name for name, chosen in {"json": as_json, "jsonl": as_jsonl, "csv": as_csv}.items() if chosen]
    if len(kinds) > 1:
        raise BadInput(f"{' and '.join(f'--{one}' for one in kinds)} do not go together")
    request = RunRequest(
        file=file,
        inputs=tuple(inputs or ()),
        inputs_file=inputs_file,
        url=url,
        urls_file=urls_file,
        html=html,
        session=session,
        kind=kinds[0] if kinds else "json",
        rows=rows,
        allow_private_hosts=allow_private_hosts,
        timeout_s=timeout,
        manners=Manners(per_host_delay_ms, hosts_at_once, not ignore_robots),
    )
    raise typer.Exit(run_extractor(request, data_folder(data)))
