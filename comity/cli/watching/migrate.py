"""`comity watch migrate …`: moving in from another system that watches the same pages, without losing an update."""

import json
from typing import Annotated, Any

import typer

from comity.cli.errors import BadInput
from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import keeper, list_of
from comity.cli.watching.files import read_bytes
from comity.cli.watching.migrate_import import migrate_import
from comity.cli.watching.migrate_rehearse import migrate_rehearse
from comity.cli.watching.parts import wrong

migrate_app = typer.Typer(
    help="Move in from another system that watches the same pages: import, rehearse, switch a few, all, or go back.",
    no_args_is_help=True,
)
AT_ONCE = 500
FromOption = Annotated[
    str | None, typer.Option("--from-page", metavar="PAGE", help="From this page's id on.", show_default=False)
]
ToOption = Annotated[
    str | None, typer.Option("--to-page", metavar="PAGE", help="Up to this page's id.", show_default=False)
]
OfListOption = Annotated[
    str | None, typer.Option("--list", metavar="LIST", help="Only pages of this list.", show_default=False)
]
PercentOption = Annotated[
    float | None,
    typer.Option(min=0.0001, max=100, help="This part of the pages, the same ones every time.", show_default=False),
]
AllOption = Annotated[bool, typer.Option("--all", help="Every page.")]
migrate_app.command("import")(migrate_import)
migrate_app.command("rehearse")(migrate_rehearse)


@migrate_app.command("switch")
def migrate_switch(  # noqa: PLR0917 - typer reads options from parameters
    every_page: AllOption = False,
    percent: PercentOption = None,
    from_page: FromOption = None,
    to_page: ToOption = None,
    of_list: OfListOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Visit pages ourselves from now on: a range, a list, a part, or all. The other system must leave them alone.

    Which ones is to be said: --all, --percent, --list, --from-page or --to-page.
    """
    _switch(2, _chosen(percent, from_page, to_page, of_list, every_page=every_page), of_list, data, as_json=as_json)


@migrate_app.command("back")
def migrate_back(  # noqa: PLR0917 - as above
    every_page: AllOption = False,
    percent: PercentOption = None,
    from_page: FromOption = None,
    to_page: ToOption = None,
    of_list: OfListOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Leave pages to the other system again. Times of updates stay; diffs are those that were found.

    Which ones is to be said: --all, --percent, --list, --from-page or --to-page.
    """
    _switch(1, _chosen(percent, from_page, to_page, of_list, every_page=every_page), of_list, data, as_json=as_json)


@migrate_app.command("status")
def migrate_status(data: DataOption = None, as_json: JsonOption = False) -> None:
    """How many pages each system visits, and how our queue fares."""
    with keeper(data) as ledger:
        state, counts = ledger.moving(), ledger.counts()
    if as_json:
        print(json.dumps({**state.to_wire(), **counts.to_wire()}, indent=2))
        return
    visits, rehearsal = counts.visits, counts.rehearsal
    new = "ours" if state.new_pages_version == 2 else "the other system's"
    print(
        f"{state.old_system} pages are the other system's, {state.ours} ours; new ones are {new}\n"
        f"visits: {visits.processing} processing, {visits.delayed} delayed, {visits.queued} queued\n"
        f"rehearsal: {rehearsal.processing} processing, {rehearsal.delayed} delayed, {rehearsal.queued} queued"
    )


@migrate_app.command("updates")
def migrate_updates(
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Where the last call ended.", show_default=False)
    ] = None,
    take: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Take the other system's instead: JSON Lines of url or pageId, and updatedAt.",
            show_default=False,
        ),
    ] = None,
    data: DataOption = None,
) -> None:
    """Tell the other system when which page was found changed, as JSON Lines; the last line has the next cursor.

    With --take, learn it from the other system. The newest time wins on both sides.
    """
    if take is not None:
        _take(take, data)
        return
    with keeper(data) as ledger:
        while True:
            answer = ledger.updates(after=after, limit=AT_ONCE)
            for one in answer.updates:
                print(json.dumps(one.to_wire(), ensure_ascii=False))
            if len(answer.updates) < AT_ONCE or answer.next == after:
                break
            after = answer.next
    print(json.dumps({"next": answer.next}))


def _chosen(
    percent: float | None, from_page: str | None, to_page: str | None, of_list: str | None, *, every_page: bool
) -> dict[str, Any]:
    """Raises BadInput where nothing says which pages: all of them must not be what happens by leaving words out."""
    narrowed = any(one is not None for one in (percent, from_page, to_page, of_list))
    if every_page and narrowed:
        raise BadInput("--all: is every page; leave out --percent, --list, --from-page and --to-page, or --all")
    if not every_page and not narrowed:
        raise BadInput(
            "which pages: give --all, or some of --percent PART, --list LIST, --from-page PAGE and --to-page PAGE"
        )
    return {"percent": 100 if percent is None else percent, "fromPage": from_page, "toPage": to_page}


def _switch(
    version: int,
    chosen: dict[str, Any],
    of_list: str | None,
    data: DataOption,
    *,
    as_json: bool,
) -> None:
    from rich.progress import Progress

    from comity.cli.console import progress_output
    from comity.contract.watch_moving import SwitchPages

    looked = switched = 0
    console = progress_output()
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    with keeper(data) as ledger, bar:
        task = bar.add_task("switching", total=None)
        if of_list is not None:
            chosen["listId"] = list_of(ledger, of_list)
        after = None
        while True:
            order = SwitchPages.model_validate({**chosen, "version": version, "after": after})
            answer = ledger.switch_pages(order)
            looked += answer.looked
            switched += answer.switched
            bar.update(task, completed=looked)
            after = answer.next
            if after is None:
                break
    if as_json:
        print(json.dumps({"looked": looked, "switched": switched}))
    else:
        whose = "ours" if version == 2 else "the other system's"
        print(f"{switched} pages are {whose} from now on, {looked - switched} were already")


def _take(file: str, data: DataOption) -> None:
    from pydantic import ValidationError

    from comity.contract.watch_moving import SeenUpdate, TakeUpdates

    seen: list[SeenUpdate] = []
    for number, line in enumerate(read_bytes(file).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            seen.append(SeenUpdate.model_validate_json(line))
        except ValidationError as error:
            raise BadInput(f"{file}:{number}: {wrong(error)}; nothing was taken") from None
    newer = older = unknown = 0
    with keeper(data) as ledger:
        for start in range(0, len(seen), AT_ONCE):
            answer = ledger.take_updates(TakeUpdates(updates=seen[start : start + AT_ONCE]))
            newer, older, unknown = newer + answer.newer, older + answer.older, unknown + len(answer.unknown)
    print(f"{newer} times were newer than ours, {older} were not, {unknown} are of pages that nobody watches")
