"""What a level's threads share and no argument can carry: connections, and the signal that stops them."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from blocks.clients.capture import CaptureClient
from blocks.clients.ledger import LedgerClient
from blocks.load import ComityBlocks, load_blocks
from flows.sink_grant import SinkGrant
from flows.stop import StopSignal


@dataclass
class LevelResources:
    """Open connections of one level run in this process."""

    ledger: LedgerClient
    endpoints: tuple[CaptureClient, ...]
    stop: StopSignal
    sink: SinkGrant | None = None

    def close(self) -> None:
        """End the connections."""
        self.ledger.close()
        for endpoint in self.endpoints:
            endpoint.close()


_OPEN: dict[str, LevelResources] = {}
_LOCK = threading.Lock()


@contextlib.contextmanager
def opened(run_id: str, blocks: ComityBlocks) -> Iterator[LevelResources]:
    """The resources of a level run, found by `of_run` in this process until the block ends."""
    resources = _made(blocks)
    with _LOCK:
        _OPEN[run_id] = resources
    try:
        yield resources
    finally:
        with _LOCK:
            del _OPEN[run_id]
        resources.close()


@contextlib.contextmanager
def of_run(run_id: str) -> Iterator[LevelResources]:
    """The resources that the flow opened; in a process that it does not share, an own set made from the Blocks.

    A host in such a process hears of a stop through the ledger's answers to its results.
    """
    with _LOCK:
        shared = _OPEN.get(run_id)
    if shared is not None:
        yield shared
        return
    own = _made(load_blocks())
    try:
        yield own
    finally:
        own.close()


def _made(blocks: ComityBlocks) -> LevelResources:
    return LevelResources(ledger=blocks.ledger.client(), endpoints=blocks.endpoints.clients(), stop=StopSignal())
