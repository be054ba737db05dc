"""Where ReplayWeb.page lies: two files that `make setup` puts beside the interpreter's packages."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from comity.cli.errors import CliError

FOLDERS = "replaywebpage-*"


@dataclass(frozen=True)
class Player:
    """The player's page script and its service worker."""

    ui: Path
    worker: Path


def find_player(prefix: Path | None = None) -> Player:
    """The newest ReplayWeb.page below `{prefix}/share`. Raises CliError that says how to get it."""
    share = (Path(sys.prefix) if prefix is None else prefix) / "share"
    for folder in sorted(share.glob(FOLDERS), key=_version, reverse=True):
        player = Player(folder / "ui.js", folder / "sw.js")
        if player.ui.is_file() and player.worker.is_file():
            return player
    raise CliError(
        f"ReplayWeb.page is not in {share / FOLDERS}: run `make setup`, "
        "or put ui.js and sw.js of the npm package replaywebpage there"
    )


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder.name))
