"""Reading pages without being held up by one: small ones here, large and costly ones in a process that can be ended.

HTML can be made so that reading it takes minutes (100,000 links, each in a block in the last: 8 s for 1 MB), and code
in C holds the whole interpreter meanwhile. So what is large is read by a child with a limit of time and memory.
"""

import asyncio
import contextlib
import pickle
import resource
import signal
import struct
import sys
from dataclasses import dataclass
from typing import Any

from comity.watch.rules.choosing import Choice
from comity.watch.rules.reading import Answer, PageRead, decoded, read
from comity.watch.rules.settings import ContentSettings
from comity.watch.rules.text import NothingThere, Reader

HERE_BYTES = 512 * 1024
HERE_BYTES_COSTLY = 128 * 1024
"""Main content, selectors and extractors are no longer linear in a page that means harm: 0.1 s at this size."""
CHILD_BUDGET_S = 20.0
CHILD_SAYS_WITHIN_S = 60
CHILD_MEMORY_BYTES = 2 * 2**30
_LENGTH = struct.Struct(">Q")


class TooCostly(Exception):  # noqa: N818  says what is so
    """The page took more time or memory to read than any page may."""


@dataclass(frozen=True, slots=True)
class _Order:
    answer: Answer
    settings: ContentSettings
    reader: Reader | None


class PageReading:
    """`await read(...)`. Belongs to one event loop; close it. The child starts when it is first needed.

    `here_bytes`: pages up to this size are read on the event loop; None: those that take no time worth speaking of.
    """

    def __init__(self, *, budget_s: float = CHILD_BUDGET_S, here_bytes: int | None = None) -> None:
        self._budget_s = budget_s
        self._here_bytes = here_bytes
        self._child: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def read(self, answer: Answer, settings: ContentSettings, reader: Reader | None = None) -> PageRead:
        """Raises NothingThere where what is watched is not on the page, TooCostly where it cannot be told."""
        usual = HERE_BYTES if settings.part == "whole" and not settings.ignore else HERE_BYTES_COSTLY
        here = usual if self._here_bytes is None else self._here_bytes
        if len(answer.body) <= here:
            return _work(_Order(answer, settings, reader))
        async with self._turn:
            return await self._elsewhere(_Order(answer, settings, reader))

    async def read_chosen(
        self, answer: Answer, choice: Choice, reader: Reader | None = None
    ) -> tuple[PageRead, ContentSettings]:
        """As `read`, and by which settings: those that were chosen now, where that was open."""
        try:
            return await self.read(answer, choice.settings, reader), choice.settings
        except NothingThere:
            if choice.otherwise is None:
                raise
            return await self.read(answer, choice.otherwise, reader), choice.otherwise

    async def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _elsewhere(self, order: _Order) -> PageRead:
        try:
            async with asyncio.timeout(self._budget_s):
                said = await self._asked(pickle.dumps(order))
        except TimeoutError:
            await self.close()
            raise TooCostly(f"reading it took more than {self._budget_s:g} s") from None
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
            await self.close()
            raise TooCostly("reading it took more memory than a page may, or ended the reader") from None
        except BaseException:
            await self.close()  # half an answer is in the pipe
            raise
        if isinstance(said, PageRead):
            return said
        kind, message = said
        raise NothingThere(message) if kind == "nothing" else TooCostly(message)

    async def _asked(self, order: bytes) -> Any:
        if self._child is None or self._child.returncode is not None:
            self._child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "comity.watch.reading",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C is for the worker, who ends its child itself
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(_LENGTH.pack(len(order)) + order)
        await self._child.stdin.drain()
        (length,) = _LENGTH.unpack(await self._child.stdout.readexactly(_LENGTH.size))
        return pickle.loads(await self._child.stdout.readexactly(length))  # noqa: S301 - our own child's words


def _work(order: _Order) -> PageRead:
    kind, text = decoded(order.answer)
    return read(order.answer, kind, text, order.settings, order.reader)


def _child() -> None:
    """Orders in, answers out, until the pipe ends."""
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_BYTES, CHILD_MEMORY_BYTES))
    took, gave = sys.stdin.buffer, sys.stdout.buffer
    while len(head := took.read(_LENGTH.size)) == _LENGTH.size:
        signal.alarm(CHILD_SAYS_WITHIN_S)  # nobody else ends it where the parent was killed meanwhile
        order: _Order = pickle.loads(took.read(_LENGTH.unpack(head)[0]))  # noqa: S301 - our own parent's words
        said: Any
        try:
            said = _work(order)
        except NothingThere as error:
            said = ("nothing", str(error))
        except (MemoryError, RecursionError, ValueError) as error:
            said = ("costly", f"{type(error).__name__} in reading it")
        answer = pickle.dumps(said)
        gave.write(_LENGTH.pack(len(answer)) + answer)
        gave.flush()
        signal.alarm(0)


if __name__ == "__main__":
    # Pickled as members of the module that parent and child both know by its name.
    from comity.watch.reading import _child as _of_the_module

    _of_the_module()
