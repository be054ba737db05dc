"""`comity watch set`: how pages that are watched already are watched from now on."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.errors import BadInput
from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import fields_named, keeper, page_of
from comity.cli.watching.chosen import (
    OPTIONS,
    AnyOrderOption,
    Chosen,
    EveryOption,
    IgnoreOption,
    LabelOption,
    MaskDigitsOption,
    MaxOption,
    MinOption,
    described,
)
from comity.cli.watching.watched import ExtractorOption, FieldOption, SelectorOption, WholeOption

if TYPE_CHECKING:
    from comity.contract.watch import ChangePage, WatchPage


def change(  # noqa: PLR0917 - typer reads options from parameters
    pages: Annotated[list[str], typer.Argument(metavar="PAGE...", help="Ids or URLs.", show_default=False)],
    title: Annotated[
        str | None, typer.Option(help="A name of your own; '' for the page's.", show_default=False)
    ] = None,
    label: LabelOption = None,
    every: EveryOption = None,
    least: MinOption = None,
    most: MaxOption = None,
    main: Annotated[bool, typer.Option("--main", help="Watch its main content.")] = False,
    whole: WholeOption = False,
    selector: SelectorOption = None,
    extractor: ExtractorOption = None,
    field: FieldOption = None,
    ignore: IgnoreOption = None,
    any_order: AnyOrderOption = None,
    mask_digits: MaskDigitsOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change how pages are watched, and show what changed. What is not given stays as it is.

    Labels and --ignore are replaced, by none with ''. Another part of the page is compared anew: its next visit is a
    first one.
    """
    chosen = Chosen(main, whole, selector, extractor, field, every, least, most, ignore, any_order, mask_digits)
    if chosen.is_empty and title is None and label is None:
        raise BadInput(f"what to change: give at least one of {OPTIONS}")
    with keeper(data) as ledger:
        watched = chosen.watched(ledger)
        named = dict.fromkeys(page_of(ledger, page) for page in pages)
        before = [ledger.watched_page(ident) for ident in named]
        orders = [_order(page, chosen.over(page.settings, watched), title, label) for page in before]
        after = [ledger.change_page(page.page_id, order) for page, order in zip(before, orders, strict=True)]
    if as_json:
        print(json.dumps([page.to_wire() for page in after], indent=2, ensure_ascii=False))
        return
    for old, new in zip(before, after, strict=True):
        print("\n".join(_changed(old, new)))


def _order(page: "WatchPage", settings: object, title: str | None, label: list[str] | None) -> "ChangePage":
    from comity.contract.watch import ChangePage

    with fields_named():
        return ChangePage.model_validate(
            {
                "settings": None if settings == page.settings else settings,
                "title": title,
                "labels": [] if label == [""] else label,
            }
        )


def _changed(old: "WatchPage", new: "WatchPage") -> list[str]:
    """What is told of a page: each thing that is another one now, and when it first shows."""
    was, is_now = described(old), described(new)
    told = [f"  {name}: {was[name]} -> {is_now[name]}" for name in was if was[name] != is_now[name]]
    if not told:
        told = ["  nothing changed: it was so already"]
    elif new.settings != old.settings and new.next is not None and not new.paused:
        told.append(
            f"  from the next visit on, {new.next.due_at:%Y-%m-%d %H:%M}; "
            f"`comity watch now {new.page_id}` does not wait for it"
        )
    return [f"{new.page_id}  {new.url}", *told]
