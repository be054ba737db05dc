"""Which part of a page is watched, as options: the same ones for `add`, `set` and `preview`."""

from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.errors import BadInput

if TYPE_CHECKING:
    from blocks.clients.watch import WatchClient
    from comity.contract.watch import Watched

WholeOption = Annotated[bool, typer.Option("--whole", help="Watch the whole page, not its main content.")]
SelectorOption = Annotated[
    str | None, typer.Option("--selector", metavar="CSS", help="Watch what this matches.", show_default=False)
]
ExtractorOption = Annotated[
    str | None,
    typer.Option(
        "--extractor",
        metavar="ID[@VERSION]",
        help="Watch what this extractor of the catalogue makes of the page; its newest version where none is named.",
        show_default=False,
    ),
]
FieldOption = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="NAME", help="With --extractor: only this field; repeatable."),
]


def watched_part(
    *,
    main: bool = False,
    whole: bool,
    selector: str | None,
    extractor: str | None,
    fields: list[str] | None,
    ledger: "WatchClient",
) -> "Watched":
    """What of a page is watched. Raises BadInput; the ledger is asked for an extractor's newest version alone."""
    from comity.cli.watching.access import fields_named
    from comity.contract.watch import ByExtractor, BySelector, MainContent, WholePage

    if sum((main, whole, selector is not None, extractor is not None)) > 1:
        raise BadInput(f"{'--main, ' if main else ''}--whole, --selector and --extractor: give one of them")
    if fields and extractor is None:
        raise BadInput("--field: goes with --extractor")
    if selector is not None:
        with fields_named("--selector"):
            return BySelector(selector=selector)
    if extractor is None:
        return WholePage() if whole else MainContent()
    ident, version = _named(extractor, ledger)
    with fields_named("--extractor, --field"):
        return ByExtractor(id=ident, version=version, fields=fields or [])


def _named(extractor: str, ledger: "WatchClient") -> tuple[str, int]:
    from blocks.clients.errors import ServiceRefused

    ident, at, number = extractor.rpartition("@")
    if at:
        if not ident or not (number.isascii() and number.isdigit()) or len(number) > 9 or int(number) < 1:
            raise BadInput(f"--extractor: {extractor!r} is no ID@VERSION; write one like offers@2")
        return ident, int(number)
    try:
        return extractor, ledger.extractor(extractor).version
    except ServiceRefused as refusal:
        if refusal.status != 404:
            raise
        raise BadInput(
            f"--extractor: there is no extractor {extractor!r}; `comity extractors list` shows them"
        ) from None
