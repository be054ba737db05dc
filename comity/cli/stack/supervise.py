"""The supervisor: starts the parts, tells when they are ready, starts again what dies, and ends the whole tree."""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import Popen

import psutil

from comity.cli.errors import StackError
from comity.cli.stack import logs, processes
from comity.cli.stack.parts import FileReady, Part
from comity.cli.stack.readiness import Readiness
from comity.cli.stack.restart import GiveUp, RestartPolicy, after_death, cannot_start
from comity.cli.stack.state import PartPhase, PartState

TICK_S = 0.1
FIRST_START_LIMIT = 3
"""A part that was never ready is more likely misconfigured than unlucky: it is told sooner."""
TREE_EVERY_S = 2.0
"""How often each part's descendants are looked up: when it dies, those that it leaves are ended with it."""
LOGS_EVERY_S = 30.0

CHILDREN_STOP_BUDGET_S = 4.5
"""Flow runs hang up their captures and report to Prefect and the ledger: about 3 s."""
STOP_BUDGET_S = 4.0
"""The parts. With the children's share and the final kill: under 10 s."""

Observer = Callable[[str, PartState], None]
"""Told of every change: which part, and how it is now."""


@dataclass
class _Running:
    """A part and what we know of its process."""

    part: Part
    log: Path
    process: Popen[bytes] | None = None
    state: PartState = field(default_factory=lambda: PartState("waiting"))
    started_at_s: float = 0.0
    start_at_s: float = 0.0
    tree: list[psutil.Process] = field(default_factory=list)


class Supervisor:
    """Runs the parts until told to stop. One thread: `tick` looks at everything once and never waits long.

    `observe` hears each change. Raises StackError from `tick` when a part cannot be kept alive or does not get ready
    within its budget; the caller then calls `stop`, as it does at the end.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        logs_folder: Path,
        cwd: Path,
        observe: Observer,
        policy: RestartPolicy | None = None,
    ) -> None:
        self._cwd = cwd
        self._observe = observe
        self._policy = policy or RestartPolicy()
        self._running = {part.name: _Running(part, logs_folder / f"{part.name}.log") for part in parts}
        self._first_start = replace(self._policy, limit=min(self._policy.limit, FIRST_START_LIMIT))
        self._deaths: dict[str, list[float]] = {}
        self._were_ready: set[str] = set()
        self._readiness = Readiness()
        self._next_tree_s = self._next_logs_s = 0.0
        for running in self._running.values():
            logs.begin(running.log)

    @property
    def ready(self) -> bool:
        """Every part answers."""
        return all(running.state.phase == "ready" for running in self._running.values())

    def tick(self) -> None:
        """Looks at each part once: starts it, asks it, or notices its end."""
        now_s = time.monotonic()
        for running in self._running.values():
            if running.process is None:
                if now_s >= running.start_at_s:
                    self._start(running)
            elif running.process.poll() is not None:
                self._died(running)
            elif running.state.phase == "starting":
                self._ask(running)
        self._look_around(now_s)

    def _start(self, running: _Running) -> None:
        part = running.part
        if isinstance(part.ready, FileReady):
            part.ready.path.unlink(missing_ok=True)
        with logs.open_log(running.log) as log:
            running.process = processes.spawn(part.command, part.env, log, self._cwd)
        running.started_at_s = time.monotonic()
        self._change(running, "starting")

    def _ask(self, running: _Running) -> None:
        assert running.process is not None
        waited_s = time.monotonic() - running.started_at_s
        if self._readiness.is_ready(running.part.ready, running.process.pid):
            self._were_ready.add(running.part.name)
            self._change(running, "ready", ready_after_s=round(waited_s, 1))
        elif waited_s > running.part.ready_budget_s:
            self._change(running, "failed", detail=f"not ready after {running.part.ready_budget_s:.0f} s")
            raise StackError(
                f"{running.part.name} is not ready after {running.part.ready_budget_s:.0f} s; see {running.log}"
                f"{_last_words(running.log)}"
            )

    def _died(self, running: _Running) -> None:
        """Ends the parts that cannot outlive it, and decides when they start again."""
        assert running.process is not None
        name, status = running.part.name, running.process.returncode
        how = _how_it_ended(status)
        deaths = self._deaths.setdefault(name, [])
        deaths.append(time.monotonic())
        self._clear(running)
        if cannot_start(status, was_ready=name in self._were_ready):
            self._change(running, "failed", detail=how)
            raise StackError(f"{name} cannot start: {logs.last_line(running.log) or how} (see {running.log})")
        decision = after_death(deaths, self._policy if name in self._were_ready else self._first_start)
        if isinstance(decision, GiveUp):
            self._change(running, "failed", detail=how)
            raise StackError(
                f"{name} {how}, {decision.deaths} times within {decision.window_s:.0f} s: "
                f"see {running.log}{_last_words(running.log)}"
            )
        for member in self._running.values():
            if member is running or member.part.restarts_with == name:
                self._clear(member)
                member.start_at_s = time.monotonic() + decision.delay_s
                detail = how if member is running else f"restarts with {name}"
                self._change(member, "waiting", detail=detail, restarts=member.state.restarts + 1)

    def _clear(self, running: _Running) -> None:
        """Ends what is left of a part: its process where it lives, and what it started, unless that may finish."""
        process, running.process = running.process, None
        if process is not None and process.poll() is None:
            # At once: told to end, a worker would take its flow runs along, which may outlive its restart.
            process.kill()
        if process is not None:
            process.wait()
        if not running.part.keeps_children:
            processes.kill(child for child in running.tree if processes.alive(child))
        running.tree = []

    def _look_around(self, now_s: float) -> None:
        if now_s >= self._next_tree_s:
            self._next_tree_s = now_s + TREE_EVERY_S
            trees = processes.trees()
            for running in self._running.values():
                if running.process is not None:
                    running.tree = trees.get(running.process.pid, [])
            processes.reap_adopted(self._pids())
        if now_s >= self._next_logs_s:
            self._next_logs_s = now_s + LOGS_EVERY_S
            for running in self._running.values():
                logs.cut(running.log)

    def stop(self, *, spare: frozenset[int] = frozenset()) -> None:
        """Ends every part and every other descendant of this process but the spared pids, within 10 s.

        Parts whose children are told first stand still meanwhile: a worker would start the next attempt at the level
        whose run is ending, only to have it killed.
        """
        told_first = self._told_first(spare)
        with processes.held(self._processes_of(lambda part: part.children_first)):
            processes.end(told_first, term_budget_s=CHILDREN_STOP_BUDGET_S)
        self._end_parts()
        for _ in range(3):  # a process that was being started while we looked
            orphans = [child for child in processes.descendants(os.getpid()) if child.pid not in spare]
            processes.kill(orphans)
            psutil.wait_procs(orphans, timeout=0.5)
            if not orphans:
                break
        self._readiness.close()
        for running in self._running.values():
            self._change(running, "stopped")

    def _told_first(self, spare: frozenset[int]) -> list[psutil.Process]:
        """Children of parts that say so, and those that outlived such a part and are ours by adoption."""
        trees = processes.trees()
        known = {running.process.pid: running.part for running in self._running.values() if running.process is not None}
        told = [child for pid, part in known.items() if part.children_first for child in trees.get(pid, [])]
        return told + processes.adopted(spare | known.keys())

    def _end_parts(self) -> None:
        processes.end(self._processes_of(lambda _: True), term_budget_s=STOP_BUDGET_S)
        for running in self._running.values():
            if running.process is not None:
                running.process.wait()
                running.process = None

    def _processes_of(self, which: Callable[[Part], bool]) -> list[psutil.Process]:
        """The live processes of such parts."""
        found: list[psutil.Process] = []
        for running in self._running.values():
            if running.process is not None and which(running.part):
                with contextlib.suppress(psutil.Error):
                    found.append(psutil.Process(running.process.pid))
        return found

    def _pids(self) -> set[int]:
        return {running.process.pid for running in self._running.values() if running.process is not None}

    def _change(
        self,
        running: _Running,
        phase: PartPhase,
        *,
        detail: str = "",
        restarts: int | None = None,
        ready_after_s: float | None = None,
    ) -> None:
        running.state = PartState(
            phase=phase,
            pid=running.process.pid if running.process is not None else None,
            restarts=running.state.restarts if restarts is None else restarts,
            ready_after_s=ready_after_s,
            detail=detail,
        )
        self._observe(running.part.name, running.state)


def _how_it_ended(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        return f"was killed by signal {-returncode}"
    return f"ended with status {returncode}"


def _last_words(log: Path) -> str:
    line = logs.last_line(log)
    return f" (last line: {line})" if line else ""
