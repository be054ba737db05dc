"""`comity watch add|pages|show|diff|pause|resume|rm|now`."""

import json
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.errors import BadInput, CliError
from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import AT_ONCE, keeper, list_of, page_of
from comity.cli.watching.chosen import (
    AnyOrderOption,
    Chosen,
    EveryOption,
    IgnoreOption,
    LabelOption,
    MaskDigitsOption,
    MaxOption,
    MinOption,
)
from comity.cli.watching.watched import ExtractorOption, FieldOption, SelectorOption, WholeOption

if TYPE_CHECKING:
    from blocks.clients.watch_people import KeeperClient
    from comity.contract.watch import Watched, WatchPage

PageArgument = Annotated[str, typer.Argument(metavar="PAGE", help="Its id or its URL.", show_default=False)]
ListOption = Annotated[
    list[str] | None, typer.Option("--list", metavar="NAME", help="Into this list, made where it is new; repeatable.")
]


def add(  # noqa: PLR0917 - typer reads options from parameters
    urls: Annotated[list[str], typer.Argument(metavar="URL...", show_default=False)],
    title: Annotated[str, typer.Option(help="A name of your own; else the page's.", show_default=False)] = "",
    in_list: ListOption = None,
    label: LabelOption = None,
    every: EveryOption = None,
    least: MinOption = None,
    most: MaxOption = None,
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
    """Watch pages for updates, all or none. One that is watched already joins the lists and gets the labels.

    Its settings stay as they are: exit 1 where others were given; `comity watch set` changes them.
    `comity watch preview URL` shows first what would be compared.
    """
    from comity.contract.watch import AddPages, NewPage, WatchSettings
    from comity.watch.page_files.pages import why_not_watched

    chosen = Chosen(False, whole, selector, extractor, field, every, least, most, ignore, any_order, mask_digits)
    with keeper(data) as ledger:
        watched = chosen.watched(ledger)
        settings = chosen.over(WatchSettings(), watched)
        for url in urls:  # before a list is made for nothing
            NewPage(url=url, title=title, labels=label or [], settings=settings)
            reason = why_not_watched(url)
            if reason is not None:
                raise BadInput(reason)
        lists = [list_of(ledger, name, make=True) for name in dict.fromkeys(in_list or [])]
        pages = [NewPage(url=url, title=title, labels=label or [], lists=lists, settings=settings) for url in urls]
        added = ledger.add_pages(AddPages(pages=pages))
        left = [] if chosen.is_empty and not title else _left_as_they_are(ledger, added.known, chosen, watched, title)
    if as_json:
        print(json.dumps(added.to_wire(), indent=2))
    else:
        for page_id, url in zip(added.page_ids, urls, strict=True):
            print(f"{page_id}  {url}")
        print(f"{added.added} added, {len(urls) - added.added} were watched already")
    options = " ".join(part for part in (f"--title {shlex.quote(title)}" if title else "", chosen.as_options()) if part)
    for page_id in left:
        print(
            f"{page_id}: already watched; its settings were not changed: comity watch set {page_id} {options}",
            file=sys.stderr,
        )
    if left:
        raise typer.Exit(1)


def _left_as_they_are(
    ledger: "KeeperClient", known: list[str], chosen: Chosen, watched: "Watched | None", title: str
) -> list[str]:
    """Those of the pages, watched before, of which something else was asked than how they are."""
    left: list[str] = []
    for page_id in dict.fromkeys(known):
        page = ledger.watched_page(page_id)
        if chosen.over(page.settings, watched) != page.settings or (title and title != page.title):
            left.append(page_id)
    return left


def pages(
    label: Annotated[str | None, typer.Option(help="Only those with this label.", show_default=False)] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List watched pages, oldest first."""
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    with keeper(data) as ledger:
        found = every_page(ledger, label)
    if as_json:
        print(json.dumps([page.to_wire() for page in found], indent=2, ensure_ascii=False))
        return
    table = listing("page", "updated", "last visit", "state", "url", "title")
    for page in found:
        table.add_row(
            page.page_id,
            _when(page.updated_at),
            _when(page.last_visit_at),
            _state(page),
            Text(page.url),
            Text(page.title),
        )
    print_listing(table)


def show(page: PageArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show a page: what is known of it, when it is visited next and why, and its last visits and changes."""
    from comity.contract.watch import OLD_SYSTEM

    with keeper(data) as ledger:
        ident = page_of(ledger, page)
        found = ledger.watched_page(ident)
        visits = ledger.history(ident, limit=10).visits
        events = ledger.page_events(ident, limit=10).events
    if as_json:
        whole = {
            **found.to_wire(),
            "visits": [one.to_wire() for one in visits],
            "events": [one.to_wire() for one in events],
        }
        print(json.dumps(whole, indent=2, ensure_ascii=False))
        return
    print(f"{found.page_id}  {found.url}\n{found.title or '(no title yet)'}: {_state(found)}")
    if found.version == OLD_SYSTEM:
        print(f"the other system visits it; {_ours(found.page_id)} lets us")
    elif found.next is not None:
        print(f"next visit {_when(found.next.due_at)}, because {found.next.because}")
    if found.whole_instead:
        print("no main content was found at first: the whole page is watched")
    if found.last_problem:
        print(f"last problem: {found.last_problem}")
    counted = found.counters
    print(
        f"{counted.visits} visits, {counted.changes} changes, {counted.not_modified} not modified, "
        f"{counted.failed_visits} failed"
    )
    for visit in visits:
        print(f"  {_when(visit.at)}  {visit.outcome}{f'  {visit.problem}' if visit.problem else ''}")
    for event in events:
        print(
            f"{event.event_id}  {_when(event.at)}  {event.kind}  -{event.removed_lines or 0} +{event.added_lines or 0}"
        )


def diff(
    page: PageArgument,
    event: Annotated[
        str | None, typer.Argument(metavar="EVENT", help="Which change; else the last.", show_default=False)
    ] = None,
    as_html: Annotated[bool, typer.Option("--html", help="As HTML.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what changed, as it was when it was found."""
    from comity.watch.rules.rendering import as_html as rendered
    from comity.watch.rules.rendering import as_text

    with keeper(data) as ledger:
        ident = page_of(ledger, page)
        if event is None:
            changed = [one for one in ledger.page_events(ident).events if one.kind == "changed"]
            if not changed:
                raise BadInput(f"{page}: no change was found yet")
            event = changed[0].event_id
        found = ledger.page_event(ident, event)
    if as_json:
        print(json.dumps(found.to_wire(), indent=2, ensure_ascii=False))
    elif found.diff is None:
        print(found.problem or "no diff is kept of it")
    else:
        print(rendered(found.diff) if as_html else as_text(found.diff), end="")


def pause(page: PageArgument, data: DataOption = None) -> None:
    """Visit a page no more, until it is resumed. What is known of it stays."""
    _pause(page, data, paused=True)


def resume(page: PageArgument, data: DataOption = None) -> None:
    """Visit a paused page again."""
    _pause(page, data, paused=False)


def remove(page: PageArgument, data: DataOption = None) -> None:
    """Watch a page no more, and forget what was found."""
    with keeper(data) as ledger:
        ident = page_of(ledger, page)
        ledger.remove_page(ident)
    print(f"{ident} removed")


def now(page: PageArgument, data: DataOption = None) -> None:
    """Visit a page as soon as its host may be visited."""
    from comity.contract.watch import OLD_SYSTEM

    with keeper(data) as ledger:
        ident = page_of(ledger, page)
        if ledger.watched_page(ident).version == OLD_SYSTEM:
            raise CliError(f"{ident}: the other system visits it; {_ours(ident)} lets us")
        answer = ledger.visit_now(ident)
    print(
        f"{answer.page_id} is being visited just now" if answer.in_progress else f"{answer.page_id} is next of its host"
    )


def _pause(page: str, data: DataOption, *, paused: bool) -> None:
    from comity.contract.watch import ChangePage

    with keeper(data) as ledger:
        changed = ledger.change_page(page_of(ledger, page), ChangePage(paused=paused))
    print(f"{changed.page_id}  {changed.url}  {_state(changed)}")


def every_page(ledger: "KeeperClient", label: str | None) -> "list[WatchPage]":
    """All watched pages, oldest first, with this label where one is given."""
    found: list[WatchPage] = []
    after = None
    while True:
        answer = ledger.watched_pages(after=after, limit=AT_ONCE, label=label)
        found += answer.pages
        after = answer.next
        if after is None:
            return found


def _ours(page_id: str) -> str:
    """The command that lets us visit one page of the other system's."""
    return f"`comity watch migrate switch --from-page {page_id} --to-page {page_id}`"


def _when(at: object) -> str:
    from datetime import datetime

    return f"{at:%Y-%m-%d %H:%M}" if isinstance(at, datetime) else "never"


def _state(page: "WatchPage") -> str:
    from comity.cli.console import counted

    if page.paused:
        return "paused"
    if page.in_progress:
        return "being visited"
    if page.counters.failures:
        return f"failed {counted(page.counters.failures, 'time')}"
    return page.last_outcome or "new"
