"""The supervisor with real processes, judged from outside: by the process table and by who answers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from comity.cli.data_folder import DataFolder
from comity.cli.stack.guard import MARKER, marked_pids
from comity.cli.stack.remote import end_stack, require_stack
from comity.cli.stack.state import StackState, read_state

ROOT = Path(__file__).resolve().parents[3]
READY_BUDGET_S = 120.0
STOP_BUDGET_S = 90.0


class TinyStack:
    def __init__(self, root: Path, *options: str) -> None:
        self.data = DataFolder(root)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.cli.tiny_stack", str(root), *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready_line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise AssertionError(f"never ready: {self.process.stderr.read()}")
        facts: dict[str, Any] = json.loads(line)
        return facts

    @property
    def state(self) -> StackState:
        state = read_state(self.data.state)
        assert state is not None
        return state

    def pid_of(self, part: str) -> int:
        pid = self.state.parts[part].pid
        assert pid is not None
        return pid

    def everyone(self) -> set[int]:
        """All processes of the stack but the supervisor: parts, what they started, the guard."""
        return {child.pid for child in psutil.Process(self.process.pid).children(recursive=True)}

    def end(self) -> None:
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in marked_pids(str(self.data.root)):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., TinyStack]]:
    started: list[TinyStack] = []

    def begin(*options: str) -> TinyStack:
        started.append(TinyStack(tmp_path / "data", *options))
        return started[-1]

    yield begin
    for stack in started:
        stack.end()


def eventually(holds: Callable[[], bool], within_s: float) -> bool:
    deadline_s = time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        if holds():
            return True
        time.sleep(0.05)
    return holds()


def none_alive(pids: set[int]) -> bool:
    return not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)


def wait_for_looks(stack: TinyStack) -> None:
    """Until the supervisor has looked up descendants, as it does every 2 s: its pauses are of 0.1 s."""
    supervisor = psutil.Process(stack.process.pid)
    before = supervisor.num_ctx_switches().voluntary
    time.sleep(2.2)
    assert eventually(lambda: supervisor.num_ctx_switches().voluntary >= before + 20, READY_BUDGET_S)


def test_ready_line_tells_where_everything_is(start: Callable[..., TinyStack]) -> None:
    stack = start()
    facts = stack.ready_line()
    assert facts["ready"] is True
    assert facts["pid"] == stack.process.pid
    assert httpx.get(f"{facts['ledger']}/healthz", trust_env=False).status_code == 200
    assert {part.phase for part in stack.state.parts.values()} == {"ready"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_whole_tree(start: Callable[..., TinyStack], number: signal.Signals) -> None:
    stack = start()
    stack.ready_line()
    everyone = stack.everyone()
    assert len(everyone) == 5  # server, its stubborn grandchild, helper, its child, guard
    stack.process.send_signal(number)
    assert stack.process.wait(STOP_BUDGET_S) == 0
    assert none_alive(everyone)
    assert not stack.data.state.exists()


def test_a_part_whose_children_are_told_first_begins_nothing_new_meanwhile(start: Callable[..., TinyStack]) -> None:
    stack = start()
    stack.ready_line()
    stack.process.terminate()
    assert stack.process.wait(STOP_BUDGET_S) == 0
    assert (stack.data.run / "noted").read_text() == "stood still"


def test_a_part_that_dies_starts_again_on_its_port_and_takes_its_orphans_along(
    start: Callable[..., TinyStack],
) -> None:
    stack = start()
    url = stack.ready_line()["ledger"]
    server, helper = stack.pid_of("server"), stack.pid_of("helper")
    wait_for_looks(stack)
    grandchildren = {child.pid for child in psutil.Process(server).children(recursive=True)}
    os.kill(server, signal.SIGKILL)
    assert eventually(lambda: stack.state.ready and stack.state.parts["server"].restarts == 1, READY_BUDGET_S)
    assert stack.pid_of("server") != server
    assert stack.pid_of("helper") != helper  # restarts with the server
    assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
    assert grandchildren
    assert none_alive(grandchildren | {server, helper})


def test_a_part_that_others_do_not_need_restarts_alone(start: Callable[..., TinyStack]) -> None:
    stack = start()
    stack.ready_line()
    server = stack.pid_of("server")
    os.kill(stack.pid_of("helper"), signal.SIGTERM)
    assert eventually(lambda: stack.state.ready and stack.state.parts["helper"].restarts == 1, READY_BUDGET_S)
    assert stack.pid_of("server") == server


def test_a_second_start_is_refused_and_says_who_holds_the_folder(start: Callable[..., TinyStack]) -> None:
    first = start()
    facts = first.ready_line()
    second = start()
    _, said = second.process.communicate(timeout=READY_BUDGET_S)
    assert second.process.returncode == 1
    assert f"pid {first.process.pid}" in said
    assert facts["ledger"] in said
    assert len(said.splitlines()) == 1
    assert first.process.poll() is None


def test_a_killed_supervisor_leaves_no_orphan_for_long(start: Callable[..., TinyStack]) -> None:
    stack = start()
    stack.ready_line()
    everyone = stack.everyone()
    stack.process.kill()
    stack.process.wait()
    assert eventually(lambda: none_alive(everyone), 60.0)


def test_a_start_right_after_a_kill_ends_what_was_left_and_gets_ready(start: Callable[..., TinyStack]) -> None:
    first = start()
    url = first.ready_line()["ledger"]
    everyone = first.everyone()
    first.process.kill()
    first.process.wait()
    second = start()
    assert second.ready_line()["ledger"] == url  # the ports are kept
    assert none_alive(everyone)
    time.sleep(7)  # the first one's guard would have killed by now
    assert second.state.ready
    assert all(part.restarts == 0 for part in second.state.parts.values())


def test_a_part_that_cannot_live_ends_the_start_naming_it_and_its_log(start: Callable[..., TinyStack]) -> None:
    stack = start("--crash")
    _, said = stack.process.communicate(timeout=READY_BUDGET_S)
    last = said.strip().splitlines()[-1]
    assert stack.process.returncode == 1
    assert "server ended with status 1, 3 times" in last
    assert str(stack.data.logs / "server.log") in last
    assert "cannot read its settings" in last
    assert marked_pids(str(stack.data.root)) == []


def test_a_part_with_bad_settings_is_not_tried_again(start: Callable[..., TinyStack]) -> None:
    stack = start("--refuse")
    _, said = stack.process.communicate(timeout=READY_BUDGET_S)
    log = stack.data.logs / "server.log"
    assert stack.process.returncode == 1
    assert said.strip().splitlines()[-1] == (f"comity: server cannot start: SERVER_PORT: must be a number (see {log})")
    assert log.read_text().count("SERVER_PORT") == 1
    assert marked_pids(str(stack.data.root)) == []


def test_down_ends_the_stack_and_names_its_pid(start: Callable[..., TinyStack]) -> None:
    stack = start()
    stack.ready_line()
    everyone = stack.everyone()
    assert require_stack(stack.data).pid == stack.process.pid
    waiting = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], env={**os.environ, MARKER: "/else"}
    )
    try:
        assert end_stack(stack.data) == stack.process.pid
        assert none_alive(everyone)
        assert waiting.poll() is None  # another folder's process is not ours to end
    finally:
        waiting.kill()
        waiting.wait()
