"""`comity up`: the supervisor's process, from taking the data folder to leaving nothing behind."""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from comity.cli.data_folder import DataFolder
from comity.cli.errors import StackError
from comity.cli.stack import processes
from comity.cli.stack.parts import Part, addresses, package_root, port_names, stack_parts
from comity.cli.stack.ports import keep_ports
from comity.cli.stack.state import PartState, StackLock, StackState
from comity.cli.stack.supervise import TICK_S, Supervisor
from comity.contract.wire import rfc3339

SWEEP_BUDGET_S = 4.0


@dataclass(frozen=True)
class Observers:
    """Told what happens: a part changed, everything is ready (with the seconds it took), the end begins."""

    part: Callable[[str, PartState], None]
    ready: Callable[[StackState, float], None]
    ending: Callable[[str], None]


@dataclass(frozen=True)
class StackPlan:
    """What a stack consists of: its parts, where they are started, and where people find them."""

    parts: Sequence[Part]
    cwd: Path
    addresses: Mapping[str, object]
    allow_private: str = ""


Planner = Callable[[DataFolder], StackPlan]
"""Makes the plan once the data folder is held and what was left behind on it has ended."""


def embedded_stack(browsers: int, allow_private: str = "") -> Planner:
    """The plan of the whole stack; `allow_private` is what it may visit besides the public web.

    Raises PortTaken, or StackError where the project's files are not at hand.
    """

    def plan(data: DataFolder) -> StackPlan:
        root = package_root()
        if not (root / "prefect.yaml").exists():
            raise StackError(f"{root / 'prefect.yaml'} is missing: run comity from a checkout of the project")
        ports = keep_ports(port_names(browsers), data.ports)
        parts = stack_parts(data, ports, browsers, root, allow_private)
        return StackPlan(parts, root, addresses(data, ports, browsers).as_json(), allow_private)

    return plan


def run_stack(data: DataFolder, planner: Planner, observers: Observers) -> None:
    """Runs the stack until SIGTERM, SIGINT or SIGHUP; returns when the last process has ended.

    Raises AlreadyRunning, PortTaken, or StackError naming the part that could not be kept alive and its log.
    """
    data.create()
    lock = StackLock(data)
    try:
        processes.end(processes.left_behind(data.root), term_budget_s=SWEEP_BUDGET_S)
        _supervise(data, planner(data), observers)
    finally:
        data.state.unlink(missing_ok=True)
        lock.release()


def _supervise(data: DataFolder, plan: StackPlan, observers: Observers) -> None:
    stop = _StopSignal()
    processes.become_subreaper()
    guard = processes.Guard(data.root)
    state = StackState(
        pid=os.getpid(),
        started_at=rfc3339(datetime.now(UTC)),
        data=str(data.root),
        ready=False,
        addresses=dict(plan.addresses),
        allow_private=plan.allow_private,
    )
    book = _Book(data, state, observers)
    supervisor = Supervisor(plan.parts, logs_folder=data.logs, cwd=plan.cwd, observe=book.changed)
    began_s = time.monotonic()
    try:
        while not stop.asked:
            supervisor.tick()
            book.tell_ready(supervisor.ready, time.monotonic() - began_s)
            time.sleep(TICK_S)
        observers.ending(f"told to end by {stop.name}")
    finally:
        supervisor.stop(spare=frozenset({guard.pid}))
        guard.release()


class _Book:
    """Keeps the state file true, and passes changes on."""

    def __init__(self, data: DataFolder, state: StackState, observers: Observers) -> None:
        self._path, self._state, self._observers = data.state, state, observers
        self._told = False
        self._state.write(self._path)

    def changed(self, name: str, part: PartState) -> None:
        still_ready = self._state.ready and part.phase == "ready"
        self._state = replace(self._state, ready=still_ready, parts=self._state.parts | {name: part})
        self._state.write(self._path)
        self._observers.part(name, part)

    def tell_ready(self, ready: bool, after_s: float) -> None:
        if ready != self._state.ready:
            self._state = replace(self._state, ready=ready)
            self._state.write(self._path)
        if ready and not self._told:
            self._told = True
            self._observers.ready(self._state, after_s)


class _StopSignal:
    """Remembers that an end was asked for. Asked again: still the same orderly end, which has a budget of its own."""

    def __init__(self) -> None:
        self.name = ""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask)

    def _ask(self, number: int, _: FrameType | None) -> None:
        self.name = signal.Signals(number).name

    @property
    def asked(self) -> bool:
        return bool(self.name)
