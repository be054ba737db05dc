"""Killing parts of a running stack at random, and a small web of many pages to do it over."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from comity.cli.stack.guard import MARKER
from comity.cli.stack.prepare import RUN_MODULE
from tests.site import FixtureSite
from tests.site.wire import Request, Response, html

HOSTS = 8
FANOUT = (3, 2)
"""Links of a page at level 0, and at level 1: 1 + 3 + 3 x 2 = 10 pages a host."""


def grow(site: FixtureSite) -> list[str]:
    """Puts a tree of pages below `/grove/` on every host; the seeds of all hosts. A page takes a part of a second."""
    site.set_below("/grove/", _page)
    return [site.url(host, "/grove/r") for host in range(len(site.hosts))]


def _page(request: Request) -> Response:
    name = request.path.removeprefix("/grove/")
    level = name.count("-")
    links = [f"{name}-{n}" for n in range(FANOUT[level])] if level < len(FANOUT) else []
    items = "".join(f'<li><a href="/grove/{link}">{link}</a></li>' for link in links)
    return html(f"<!doctype html><title>Tree {name}</title><h1>Tree {name}</h1><ul>{items}</ul>")


def parts_of(data: Path) -> dict[str, list[psutil.Process]]:
    """The processes of the stack on `data` that may be killed, by what they are."""
    found: dict[str, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARKER) == str(data):
                found.setdefault(_kind(process.cmdline()), []).append(process)
    captures = found.get("capture", [])
    children = [child for one in captures for child in _children(one)]
    found["browser"] = [child for child in children if "--type=" not in " ".join(_command(child))]
    return {kind: processes for kind, processes in found.items() if kind in KINDS and processes}


KINDS: dict[str, Callable[[str], bool]] = {
    "flow": lambda command: RUN_MODULE in command,
    "worker": lambda command: "comity.cli.stack.workers" in command,
    "ledger": lambda command: "-m ledger" in command,
    "capture": lambda command: "-m comity.capture" in command,
    "prefect": lambda command: "comity.cli.stack.prefect_server" in command,
    "browser": lambda command: False,
}


def _kind(command: list[str]) -> str:
    line = " ".join(command)
    return next((kind for kind, holds in KINDS.items() if holds(line)), "other")


def _children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


@dataclass
class Killer:
    """Kills one part after the other, never twice within `rest_s`; the same seed draws the same parts."""

    data: Path
    seed: int
    rest_s: tuple[float, float] = (4.0, 12.0)
    done: list[tuple[float, str]] = field(default_factory=list)
    """Monotonic time and kind of every kill."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._order = self._draws()

    def _draws(self) -> Iterator[str]:
        while True:  # every kind once, in an order of its own, before any comes again
            kinds = list(KINDS)
            self._random.shuffle(kinds)
            yield from kinds

    def kill_one(self, going_on: Callable[[], bool], within_s: float = 180) -> bool:
        """After a pause, kill a process of the next kind as soon as there is one. False where nothing goes on."""
        time.sleep(self._random.uniform(*self.rest_s))
        kind = next(self._order)
        deadline = time.monotonic() + within_s
        while going_on():
            if candidates := parts_of(self.data).get(kind):
                os.kill(self._random.choice(candidates).pid, signal.SIGKILL)
                self.done.append((time.monotonic(), kind))
                return True
            assert time.monotonic() < deadline, f"for {within_s:.0f} s there was no {kind} to kill"
            time.sleep(0.1)
        return False

    @property
    def counts(self) -> Counter[str]:
        return Counter(kind for _, kind in self.done)
