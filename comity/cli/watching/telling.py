"""`comity watch channels …` and `comity watch feeds …`: who is told, and where feeds are."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.errors import BadInput, CliError
from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import fields_named, keeper, list_names, list_of, page_of
from comity.cli.watching.parts import wrong

if TYPE_CHECKING:
    from blocks.clients.watch_people import KeeperClient

channels_app = typer.Typer(help="Who is told of updates, by webhook or by a service.", no_args_is_help=True)
feeds_app = typer.Typer(help="Atom, RSS and JSON feeds of lists and pages.", no_args_is_help=True)
ChannelArgument = Annotated[str, typer.Argument(metavar="CHANNEL", help="Its id or its name.", show_default=False)]
ListOption = Annotated[str | None, typer.Option("--list", metavar="LIST", help="Of this list.", show_default=False)]
PageOption = Annotated[str | None, typer.Option("--page", metavar="PAGE", help="Of this page.", show_default=False)]


@channels_app.command("list")
def channels_list(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the channels, with what waits in them."""
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    with keeper(data) as ledger:
        found = ledger.channels().channels
        names = {} if as_json else list_names(ledger)
    if as_json:
        print(json.dumps([one.to_wire() for one in found], indent=2, ensure_ascii=False))
        return
    table = listing("channel", "name", "to", "of", "state", "waiting", "given up", "problem")
    for one in found:
        about = Text(_about(one.list_id, one.page_id, names) or "all pages")
        state = "on" if one.enabled else "off"
        problem = Text(one.last_problem or "")
        table.add_row(
            one.channel_id, Text(one.name), Text(one.target), about, state, str(one.waiting), str(one.given_up), problem
        )
    print_listing(table)


@channels_app.command("add")
def channels_add(  # noqa: PLR0917 - typer reads options from parameters
    target: Annotated[
        str, typer.Argument(metavar="URL", help="A webhook's https:// address, or an Apprise URL.", show_default=False)
    ],
    name: Annotated[str | None, typer.Option(help="What you call it.", show_default=False)] = None,
    of_list: ListOption = None,
    of_page: PageOption = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="changed|failing|recovered", help="Only these; repeatable.")
    ] = None,
    quiet: Annotated[
        str | None,
        typer.Option(
            metavar="HH:MM-HH:MM@ZONE", help="Tell nothing then: 22:00-07:00@Europe/Berlin.", show_default=False
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell somebody of updates. A webhook's secret is shown this once: its receiver checks signatures with it."""
    from comity.contract.watch_telling import ALL_KINDS, NewChannel

    for one in kind or ():
        if one not in ALL_KINDS:
            raise BadInput(f"--kind: {one!r} is none of {', '.join(ALL_KINDS)}")
    by_web = target.lower().startswith(("http://", "https://"))
    with keeper(data) as ledger, fields_named("--list, --page"):
        wanted = NewChannel.model_validate(
            {
                "name": name or target.partition("://")[0],
                "kind": "webhook" if by_web else "apprise",
                "target": target,
                "listId": None if of_list is None else list_of(ledger, of_list),
                "pageId": None if of_page is None else page_of(ledger, of_page),
                "kinds": kind or ALL_KINDS,
                "quiet": _quiet(quiet),
            }
        )
        made = ledger.add_channel(wanted)
    if as_json:
        print(json.dumps(made.to_wire(), indent=2))
        return
    print(f"{made.channel.channel_id}  {made.channel.name}  {made.channel.target}")
    if made.secret is not None:
        print(f"secret, shown this once: {made.secret}")


@channels_app.command("test")
def channels_test(channel: ChannelArgument, data: DataOption = None) -> None:
    """Send a message that says it is a test. Exit 1 where it was not taken."""
    with keeper(data) as ledger:
        tried = ledger.test_channel(_channel(ledger, channel))
    if not tried.sent:
        raise CliError(f"not taken: {tried.problem}")
    print("taken")


@channels_app.command("secret")
def channels_secret(
    channel: ChannelArgument,
    old_for: Annotated[int, typer.Option(min=0, max=168, help="Hours that the old secret signs too.")] = 24,
    data: DataOption = None,
) -> None:
    """Give a webhook a new secret."""
    from comity.contract.watch_telling import NewSecret

    with keeper(data) as ledger:
        made = ledger.renew_secret(_channel(ledger, channel), NewSecret(old_for_hours=old_for))
    print(f"secret, shown this once: {made.secret}")


@channels_app.command("enable")
def channels_enable(channel: ChannelArgument, data: DataOption = None) -> None:
    """Switch a channel on again; what waited is told."""
    _enable(channel, data, enabled=True)


@channels_app.command("disable")
def channels_disable(channel: ChannelArgument, data: DataOption = None) -> None:
    """Switch a channel off. What happens meanwhile is not told in it."""
    _enable(channel, data, enabled=False)


@channels_app.command("messages")
def channels_messages(channel: ChannelArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show what a channel told last, and what became of it."""
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    with keeper(data) as ledger:
        found = ledger.messages(_channel(ledger, channel)).messages
    if as_json:
        print(json.dumps([one.to_wire() for one in found], indent=2))
        return
    table = listing("message", "made", "kind", "events", "state", "tries", "problem")
    for one in found:
        made = f"{one.created_at:%Y-%m-%d %H:%M}"
        table.add_row(
            one.message_id, made, one.kind, str(len(one.events)), one.state, str(one.tries), Text(one.problem or "")
        )
    print_listing(table)


@channels_app.command("rm")
def channels_rm(channel: ChannelArgument, data: DataOption = None) -> None:
    """Remove a channel, and what it had to tell."""
    with keeper(data) as ledger:
        ident = _channel(ledger, channel)
        ledger.remove_channel(ident)
    print(f"{ident} removed")


@feeds_app.command("add")
def feeds_add(of_list: ListOption = None, of_page: PageOption = None, data: DataOption = None) -> None:
    """Give a list or a page feeds for readers that can show no token. The addresses are shown this once."""
    from comity.contract.watch_telling import NewFeed

    if (of_list is None) == (of_page is None):
        raise BadInput("--list, --page: give one of them")
    with keeper(data) as ledger:
        made = ledger.add_feed(
            NewFeed(
                list_id=None if of_list is None else list_of(ledger, of_list),
                page_id=None if of_page is None else page_of(ledger, of_page),
            )
        )
    print(f"{made.feed.feed_id}\nAtom  {made.atom}\nRSS   {made.rss}\nJSON  {made.json_feed}")


@feeds_app.command("list")
def feeds_list(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the feeds that were given away, without their addresses."""
    from rich.text import Text

    from comity.cli.console import listing, print_listing

    with keeper(data) as ledger:
        found = ledger.feeds().feeds
        names = {} if as_json else list_names(ledger)
    if as_json:
        print(json.dumps([one.to_wire() for one in found], indent=2))
        return
    table = listing("feed", "of", "made", "last read")
    for one in found:
        read = f"{one.last_read_at:%Y-%m-%d %H:%M}" if one.last_read_at else "never"
        about = Text(_about(one.list_id, one.page_id, names))
        table.add_row(one.feed_id, about, f"{one.created_at:%Y-%m-%d %H:%M}", read)
    print_listing(table)


@feeds_app.command("rm")
def feeds_rm(
    feed: Annotated[str, typer.Argument(metavar="FEED", help="Its id.", show_default=False)], data: DataOption = None
) -> None:
    """Take a feed back: its addresses lead nowhere any more."""
    with keeper(data) as ledger:
        ledger.remove_feed(feed)
    print(f"{feed} removed")


def _channel(ledger: "KeeperClient", named: str) -> str:
    same = [one.channel_id for one in ledger.channels().channels if named in (one.channel_id, one.name)]
    if len(same) > 1:
        raise BadInput(f"{len(same)} channels are called {named!r}; give an id: {', '.join(same)}")
    if not same:
        raise BadInput(f"no channel {named!r}: `comity watch channels list` shows them")
    return same[0]


def _enable(channel: str, data: DataOption, *, enabled: bool) -> None:
    from comity.contract.watch_telling import ChangeChannel

    with keeper(data) as ledger:
        changed = ledger.change_channel(_channel(ledger, channel), ChangeChannel(enabled=enabled))
    print(f"{changed.channel_id}  {changed.name}  {'on' if changed.enabled else 'off'}")


def _about(list_id: str | None, page_id: str | None, names: dict[str, str]) -> str:
    """A list with its name, or a page."""
    if list_id is None:
        return page_id or ""
    return f"{list_id} {names[list_id]}" if list_id in names else list_id


def _quiet(text: str | None) -> dict[str, str] | None:
    from pydantic import ValidationError

    from comity.contract.watch_telling import Quiet

    if text is None:
        return None
    hours, at, zone = text.partition("@")
    begin, dash, end = hours.partition("-")
    if not at or not dash:
        raise BadInput(f"--quiet: {text!r} is not like 22:00-07:00@Europe/Berlin")
    hours_of = {"begin": begin, "end": end, "zone": zone}
    try:
        Quiet.model_validate(hours_of)
    except ValidationError as error:
        raise BadInput(f"--quiet: {wrong(error)}") from None
    return hours_of
