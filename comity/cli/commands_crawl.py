"""`comity crawl`: options in, exit status out."""

from typing import Annotated

import typer

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput
from comity.cli.options import AllowPrivateOption, DataOption, JsonOption


def crawl(  # noqa: PLR0917 - typer reads options from parameters
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Where to begin.", show_default=False)],
    data: DataOption = None,
    browsers: Annotated[int, typer.Option(min=1, max=32, help="Capture servers, when the stack is started.")] = 2,
    max_depth: Annotated[int | None, typer.Option(help="Levels below the seeds, 0-10. [2]", show_default=False)] = None,
    max_pages: Annotated[int | None, typer.Option(help="Pages in all, 1-10000. [30]", show_default=False)] = None,
    delay_ms: Annotated[
        int | None,
        typer.Option(help="Rest between two visits to a host; a longer crawl-delay wins. [2000]", show_default=False),
    ] = None,
    host_parallelism: Annotated[int | None, typer.Option(help="Hosts at once, 1-32. [4]", show_default=False)] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            help="Which links to follow: same-origin (default), same-host, same-domain or prefix.",
            show_default=False,
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="RE2", help="Follow only links that match one of these; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="RE2", help="Follow no link that matches one of these; repeatable."),
    ] = None,
    sitemaps: Annotated[
        bool, typer.Option("--sitemaps", help="Also follow what the sitemaps of the seeds' hosts name.")
    ] = False,
    no_robots: Annotated[bool, typer.Option("--no-robots", help="Do not ask robots.txt.")] = False,
    script: Annotated[
        list[str] | None,
        typer.Option("--script", metavar="ID", help="Run this catalogue script; repeatable. Else all enabled ones."),
    ] = None,
    no_scripts: Annotated[bool, typer.Option("--no-scripts", help="Run no script in the pages.")] = False,
    extractor: Annotated[
        list[str] | None,
        typer.Option(
            "--extractor",
            metavar="FILE|ID[@VERSION][=RE2]",
            help="Run this extractor over the captured pages whose URL matches the pattern, else over all; repeatable. "
            "A .kdl file goes into the catalogue first.",
        ),
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            help="Artifacts per page, separated by commas: wacz, html, png, webp, mhtml, links. [wacz,html]",
            show_default=False,
        ),
    ] = None,
    allow_private: AllowPrivateOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the stack running that this command started.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Crawl from these URLs: politely, level by level, into replayable archives.

    Starts the stack where none runs on the data folder, and ends it again. Ctrl-C cancels the crawl first. Exit: 0 the
    crawl succeeded, 1 it failed or was cancelled, 2 bad input, 130 interrupted.
    """
    if no_scripts and script:
        raise BadInput("--no-scripts and --script exclude each other: give one")
    from comity.cli.crawl_extractors import read_wish
    from comity.cli.crawl_request import CrawlWishes, start_request

    extractors = [read_wish(text) for text in extractor or ()]

    request = start_request(
        CrawlWishes(
            urls=urls,
            max_depth=max_depth,
            max_pages=max_pages,
            delay_ms=delay_ms,
            host_parallelism=host_parallelism,
            scope=scope,
            respect_robots=not no_robots,
            include=include or (),
            exclude=exclude or (),
            sitemaps=sitemaps,
            scripts=[] if no_scripts else script or None,
            extractors=[wish.choice for wish in extractors],
            formats=formats,
        )
    )
    from comity.cli.allowance import allowance, check_seeds
    from comity.cli.stack.ports import LOOPBACK, read_ports

    folder, allowed = data_folder(data), allowance(allow_private)
    check_seeds(urls, allowed.text, [(LOOPBACK, port) for port in read_ports(folder.ports).values()])
    from comity.cli.crawl_session import CrawlSession

    session = CrawlSession(folder, browsers=browsers, allowed=allowed, keep=keep, as_json=as_json)
    raise typer.Exit(session.run(request, files=[wish.file for wish in extractors if wish.file is not None]))
