"""`comity watch preview`: a look at a page before it is watched."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import keeper
from comity.cli.watching.watched import ExtractorOption, FieldOption, SelectorOption, WholeOption, watched_part

if TYPE_CHECKING:
    from comity.contract.watch_preview import PagePreview


def preview(  # noqa: PLR0917 - typer reads options from parameters
    url: Annotated[str, typer.Argument(metavar="URL", help="The page.", show_default=False)],
    whole: WholeOption = False,
    selector: SelectorOption = None,
    extractor: ExtractorOption = None,
    field: FieldOption = None,
    once: Annotated[bool, typer.Option("--once", help="Fetch it once: no volatile lines are found.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at a page before it is watched: title, encoding, the text that would be compared, and what would not count.

    Exit 1 where there is nothing to watch.
    """
    from comity.contract.watch import WatchSettings
    from comity.contract.watch_preview import PreviewPage

    with keeper(data) as ledger:
        watched = watched_part(whole=whole, selector=selector, extractor=extractor, fields=field, ledger=ledger)
        seen = ledger.preview(PreviewPage(url=url, settings=WatchSettings(watched=watched), again=not once))
    if as_json:
        print(json.dumps(seen.to_wire(), indent=2, ensure_ascii=False))
    else:
        print(_shown(seen))
    if seen.problem is not None:
        raise typer.Exit(1)


def _shown(seen: "PagePreview") -> str:
    if seen.problem is not None:
        return f"{seen.url}: {seen.problem.code}: {seen.problem.reason}"
    undecodable = f", {seen.undecodable} characters could not be decoded" if seen.undecodable else ""
    volatile = set(seen.volatile_lines)
    text = [f"{'~' if line in volatile else ' '} {line}" for line in seen.text.split("\n")]
    not_counting = f"; {len(volatile)} of them, marked ~, would not count" if volatile else ""
    instead = ["no main content was found: the whole page would be watched"] if seen.whole_instead else []
    return "\n".join(
        [
            f"{seen.title or 'without a title'}  ({seen.encoding or seen.kind}{undecodable})",
            *instead,
            f"{seen.lines} lines{' (cut)' if seen.truncated else ''}{not_counting}:",
            *text,
        ]
    )
