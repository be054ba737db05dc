"""A running stack seen from another process: find it, ask for its access, end it, start one as a child."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from comity.cli.allowance import Allowance
from comity.cli.data_folder import DATA_VARIABLE, DataFolder
from comity.cli.errors import CliError, NoStack, StackError
from comity.cli.stack import logs
from comity.cli.stack.parts import LEDGER, PREFECT, Addresses, addresses, block_env, capture_name
from comity.cli.stack.ports import read_ports
from comity.cli.stack.prefect_env import client_env
from comity.cli.stack.processes import CHILD
from comity.cli.stack.state import StackState, is_held, running_stack

READY_BUDGET_S = 240.0
END_BUDGET_S = 15.0
"""The supervisor promises 10 s."""


def require_stack(data: DataFolder) -> StackState:
    """The stack that runs on the folder. Raises NoStack, naming the command that starts one."""
    state = running_stack(data)
    if state is None:
        raise NoStack(f"no stack runs on {data.root}: start one with `comity up --data {shlex.quote(str(data.root))}`")
    return state


def end_stack(data: DataFolder) -> int:
    """Ends the stack and waits until it is gone; its pid. Raises NoStack, or CliError when it does not end."""
    state = running_stack(data)
    if state is None:
        raise NoStack(f"no stack runs in {data.root}")
    os.kill(state.pid, signal.SIGTERM)
    deadline_s = time.monotonic() + END_BUDGET_S
    while is_held(data):
        if time.monotonic() > deadline_s:
            raise CliError(f"the stack (pid {state.pid}) did not end within {END_BUDGET_S:.0f} s; see {data.logs}")
        time.sleep(0.1)
    return state.pid


def known_addresses(data: DataFolder) -> Addresses:
    """Where the stack of that folder listens, running or not. Raises NoStack where none was ever started."""
    ports = read_ports(data.ports)
    if LEDGER not in ports or PREFECT not in ports:
        raise NoStack(f"no stack was ever started on {data.root}: start one with `comity up`")
    state = running_stack(data)
    captures = (
        state.addresses["captures"] if state else [name for name in ports if name.startswith(capture_name(0)[:-1])]
    )
    return addresses(data, ports, len(captures))


def use_prefect_of(data: DataFolder) -> None:
    """This process's Prefect is the folder's from now on; nothing changes where no stack was ever started there."""
    with suppress(NoStack):
        os.environ.update(client_env(data, known_addresses(data).prefect))


def shell_environment(data: DataFolder) -> dict[str, str]:
    """What a shell needs to talk to that stack by hand, each value quoted for it."""
    at = known_addresses(data)
    variables = {DATA_VARIABLE: str(data.root)} | client_env(data, at.prefect) | block_env(data, at)
    return {name: shlex.quote(value) for name, value in variables.items()}


class StartedStack:
    """A stack that this process started as a child. Ends with it, unless it is to be kept."""

    def __init__(self, data: DataFolder, browsers: int, allowed: Allowance, *, keep: bool) -> None:
        data.create()
        self._data = data
        self._log = data.logs / "up.log"
        logs.begin(self._log)
        command = [sys.executable, "-m", "comity.cli.main", "up", "--data", str(data.root), "--browsers", str(browsers)]
        command += allowed.flags()
        tied = [sys.executable, "-I", "-S", str(CHILD), str(os.getpid()), *command]
        with logs.open_log(self._log) as log:
            self._process = subprocess.Popen(
                command if keep else tied,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_ready(self, observe: Callable[[StackState], None], budget_s: float = READY_BUDGET_S) -> StackState:
        """The state once every part is ready; `observe` is shown each state on the way.

        Raises StackError with the supervisor's own last words when it ends, or when the budget is over.
        """
        deadline_s = time.monotonic() + budget_s
        while time.monotonic() < deadline_s:
            if self._process.poll() is not None:
                said = logs.last_line(self._log).removeprefix("comity: ") or f"ended; see {self._log}"
                raise StackError(said)
            state = running_stack(self._data)
            if state is not None and state.pid == self._process.pid:
                observe(state)
                if state.ready:
                    return state
            time.sleep(0.1)
        raise StackError(f"the stack is not ready after {budget_s:.0f} s; see {self._log}")

    def end(self) -> None:
        """Ends it and waits until it is gone."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(END_BUDGET_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
