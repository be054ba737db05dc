"""Runs programs over pages in a child process, which is ended where a page takes too long or too much.

A program looks at its time between rows. A query or a parse in between is C code that nothing interrupts, and a page
may be made to hurt just there: so the time is kept from outside as well, and a page that takes the process along gets
a code while the next one gets a new process.
"""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from comity.contract.extraction import PAGE_KILLED_ITS_PROCESS, PROGRAM_UNREADABLE
from flows.extraction_child import LENGTH_BYTES
from flows.rules.extraction import KILL_AFTER_S, MAX_MEMORY_BYTES, PROGRAM_TIMEOUT_S, Gave, failure

CHILD_MODULE = "flows.extraction_child"
START_BUDGET_S = 120.0
"""Loading the libraries takes half a second; on a machine that is busy with other things, many."""
CHUNK_BYTES = 1 << 16
KEPT_VARIABLES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "COMITY_STACK")
"""What the child needs of our environment. Tokens and logins stay here."""


class ProcessEnded(Exception):  # noqa: N818 -- the names say what happened
    """The child is gone."""


class OutOfTime(Exception):  # noqa: N818 -- the names say what happened
    """The child did not answer in time."""


class ExtractionProcess:
    """Use as a context manager; not thread-safe. `programs` are IRs as JSON by extractor id.

    `timeout_s` is what a program is told to keep, `kill_after_s` what is kept from outside.
    """

    def __init__(
        self,
        programs: Mapping[str, str],
        *,
        timeout_s: float = PROGRAM_TIMEOUT_S,
        kill_after_s: float = KILL_AFTER_S,
        max_memory_bytes: int = MAX_MEMORY_BYTES,
    ) -> None:
        self._programs = dict(programs)
        self._timeout_s = timeout_s
        self._kill_after_s = kill_after_s
        self._max_memory_bytes = max_memory_bytes
        self._child: subprocess.Popen[bytes] | None = None
        self._faults: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def extract(self, html: bytes, extractors: Sequence[str]) -> Iterator[tuple[str, Gave]]:
        """What each of these programs gives for the page, as soon as it does.

        Raises ProcessEnded or OutOfTime where no child can be started any more.
        """
        left, again = list(extractors), False
        while left:
            if self._child is None:
                self._start()
            try:
                self._ask(html, left)
                while left:
                    gave, again = self._answer(left[0]), False
                    yield left.pop(0), gave
            except OutOfTime:
                self._end()
                message = f"not done after {self._kill_after_s:g} s, at one query or at the page's tree; it was ended"
                again = False
                yield left.pop(0), failure("E_TIMEOUT", message)
            except ProcessEnded:
                status = self._end()
                again = not again
                if again:
                    continue  # it may have been somebody else's doing: a machine that ran out of memory, an operator
                message = f"the page ended the process that read it ({_words(status)})"
                yield left.pop(0), failure(PAGE_KILLED_ITS_PROCESS, message)

    def _start(self) -> None:
        env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        self._child = subprocess.Popen(
            [sys.executable, "-m", CHILD_MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            bufsize=0,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        for pipe in (self._child.stdin, self._child.stdout):
            os.set_blocking(pipe.fileno(), False)
        try:
            ends_s = time.monotonic() + START_BUDGET_S
            order = {"programs": self._programs, "timeoutS": self._timeout_s, "maxMemoryBytes": self._max_memory_bytes}
            self._send(json.dumps(order).encode(), ends_s)
            self._faults = self._receive(ends_s)["faults"]
        except BaseException:
            self._end()
            raise

    def _end(self) -> int:
        """End the child, whatever it is at; its exit status."""
        child, self._child = self._child, None
        if child is None:
            return 0
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return child.wait()

    def _ask(self, html: bytes, extractors: Sequence[str]) -> None:
        ends_s = time.monotonic() + self._kill_after_s
        self._send(json.dumps({"extractors": list(extractors)}).encode(), ends_s)
        self._send(html, ends_s)

    def _answer(self, ident: str) -> Gave:
        told = self._receive(time.monotonic() + self._kill_after_s)
        if ident in self._faults:
            return failure(PROGRAM_UNREADABLE, f"this machine cannot run the program: {self._faults[ident]}")
        if "error" in told:
            return Gave(None, error=told["error"])
        return Gave(told["value"], told["partial"], told["warnings"])

    # --- frames

    def _send(self, data: bytes, ends_s: float) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        pipe = self._child.stdin.fileno()
        left = memoryview(len(data).to_bytes(LENGTH_BYTES, "big") + data)
        while left:
            _wait(pipe, selectors.EVENT_WRITE, ends_s)
            try:
                left = left[os.write(pipe, left[:CHUNK_BYTES]) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ProcessEnded("the process that reads pages has ended") from None

    def _receive(self, ends_s: float) -> Any:
        size = int.from_bytes(self._bytes(LENGTH_BYTES, ends_s), "big")
        return json.loads(self._bytes(size, ends_s))

    def _bytes(self, count: int, ends_s: float) -> bytes:
        assert self._child is not None
        assert self._child.stdout is not None
        pipe = self._child.stdout.fileno()
        received = bytearray()
        while len(received) < count:
            _wait(pipe, selectors.EVENT_READ, ends_s)
            piece = os.read(pipe, min(CHUNK_BYTES, count - len(received)))
            if not piece:
                raise ProcessEnded("the process that reads pages has ended")
            received += piece
        return bytes(received)


def _wait(pipe: int, event: int, ends_s: float) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, event)
        if not selector.select(max(0.0, ends_s - time.monotonic())):
            raise OutOfTime("the process that reads pages did not answer in time")


def _words(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"
