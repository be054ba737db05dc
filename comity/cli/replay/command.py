"""`comity replay` from what was typed to Ctrl-C."""

import re
import signal
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from comity.cli.data_folder import DataFolder
from comity.cli.errors import BadInput
from comity.cli.replay.player import find_player
from comity.cli.replay.server import ReplayServer
from comity.cli.replay.shelf import Shelf, shelf_of_crawl, shelf_of_files

_CRAWL_ID = re.compile(r"c[0-9a-f]{16}")


def run_replay(what: Sequence[str], data: DataFolder, *, open_browser: bool) -> None:
    """Serves until Ctrl-C or SIGTERM; prints the address on standard output first.

    Raises BadInput for what is neither archives nor a crawl, NoStack, CliError where the player is missing.
    """
    player = find_player()
    shelf = find_shelf(what, data)
    for line in shelf.damaged:
        print(line, file=sys.stderr, flush=True)
    server = ReplayServer(player, shelf)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _interrupt)
    try:
        with server:
            print(server.first_page, flush=True)
            if open_browser and not webbrowser.open(server.first_page):
                print("no browser could be opened: open this address yourself", file=sys.stderr)
            print("Ctrl-C ends the replay", file=sys.stderr, flush=True)
            server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        return


def find_shelf(what: Sequence[str], data: DataFolder) -> Shelf:
    """The archives that were named, or those of the crawl whose id was given."""
    files = [Path(name).expanduser() for name in what]
    crawls = [name for name, file in zip(what, files, strict=True) if not file.exists() and _CRAWL_ID.fullmatch(name)]
    if crawls and len(what) > 1:
        raise BadInput(f"{crawls[0]}: is a crawl's id; give files or one crawl, not both")
    if crawls:
        return _crawl(crawls[0], data)
    return shelf_of_files(
        [archive for name, file in zip(what, files, strict=True) for archive in _archives(name, file)]
    )


def _archives(name: str, place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise BadInput(f"{name}: neither a WACZ file nor a crawl's id; `comity status` lists the crawls")
    found = sorted(place.rglob("*.wacz"))
    if not found:
        raise BadInput(f"{name}: there is no .wacz file in this folder")
    return found


def _crawl(crawl_id: str, data: DataFolder) -> Shelf:
    from blocks.clients.errors import ServiceRefused
    from comity.cli.ledger_access import operator_client
    from comity.cli.stack.remote import require_stack

    with operator_client(data, require_stack(data)) as ledger:
        try:
            crawl, pages = ledger.crawl(crawl_id), ledger.pages(crawl_id).pages
        except ServiceRefused as refusal:
            if refusal.status == 404:
                raise BadInput(f"no crawl {crawl_id}: `comity status` lists them") from None
            raise
    return shelf_of_crawl(crawl, pages)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
