"""`comity extract export`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from comity.cli.commands_ledger import ledger_of
from comity.cli.errors import BadInput, CliError
from comity.cli.options import DataOption


def export(  # noqa: PLR0917 - typer reads options from parameters
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="The crawl's id.", show_default=False)],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="KIND",
            help="jsonl, csv or parquet; else the ending of --output; jsonl for standard output.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Else standard output.", show_default=False)
    ] = None,
    extractor: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="One of those that the crawl pinned; csv and parquet need it where there are several.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="COLLECTION",
            help="csv and parquet: a line for each row of it (shelves.books for a nested one).",
            show_default=False,
        ),
    ] = None,
    data: DataOption = None,
) -> None:
    """Write what a crawl's extractors gave, pages in the order in which the crawl found them.

    JSON Lines have everything: value, warnings, errors. CSV and Parquet have a line for each page: `_url` and its like,
    then the members of the program. In CSV, lists and collections are JSON in a cell; in Parquet every column has the
    program's type.
    """
    from blocks.clients.errors import ServiceRefused
    from comity.cli.extraction import export as exporting

    form = _kind(kind, output)
    if rows is not None and form == "jsonl":
        raise BadInput("--rows goes with csv and parquet; a JSON line has all rows of its page")
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise BadInput("--output: Parquet is not for a terminal; name a file")
    with ledger_of(data) as ledger:
        try:
            pinned = ledger.pinned_extractors(crawl)
        except ServiceRefused as refusal:
            if refusal.status == 404:
                raise BadInput(f"no crawl {crawl}: `comity status` lists them") from None
            raise
        one = exporting.chosen(pinned, crawl, extractor, form)
        lines = ledger.extraction_lines(crawl, extractor=one.id if one is not None else None)
        if form == "jsonl" or one is None:
            count = exporting.export_lines(lines, output)
        else:
            count = exporting.export_table(lines, exporting.program_of(one), form, rows, output)
        progress = ledger.crawl(crawl).extraction
    where = f" in {output}" if output is not None else ""
    print(f"{count} results{where}", file=sys.stderr)
    if progress is not None and progress.pending:
        raise CliError(
            f"crawl {crawl}: {progress.pending} more wait to be extracted ({progress.reason or progress.state});"
            " export again later"
        )


def _kind(kind: str | None, output: Path | None) -> str:
    from comity.cli.extraction.export import KINDS

    if kind is None:
        if output is None:
            return "jsonl"
        ending = output.suffix.removeprefix(".").lower()
        if ending not in KINDS:
            raise BadInput(
                f"--output {output}: its ending says no form; name a .csv, .jsonl or .parquet file, or --format"
            )
        return ending
    if kind not in KINDS:
        raise BadInput(f"--format {kind}: choose {', '.join(KINDS)}")
    return kind
