"""A sign of life to the ledger, which takes a run that has been silent for too long for dead, and starts another."""

import contextvars
import threading
from types import TracebackType
from typing import Self

from blocks.clients.errors import ServiceError
from flows.delivery import Delivery, Log


class Heartbeat:
    """Says so every `every_ms` while its `with` block runs, and obeys `stop`.

    A beat that fails is a warning: the results have a budget of their own, and a ledger that is away closes nothing.
    """

    def __init__(self, delivery: Delivery, *, every_ms: int, log: Log) -> None:
        self._delivery = delivery
        self._every_ms = every_ms
        self._log = log
        self._over = threading.Event()
        self._obeying = True
        # With the flow's context, or its log lines would not find their run.
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._run,), name="heartbeat", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join(timeout=1)  # one that hangs in a call is a daemon, and ends with the process

    def stop_obeying(self) -> None:
        """From the closing of the level on: its success makes this run stale, which is no reason to stop it."""
        self._obeying = False

    def _run(self) -> None:
        while not self._over.wait(self._every_ms / 1000):
            try:
                answer = self._delivery.tell([])
                if self._obeying:
                    self._delivery.obey(answer)
            except ServiceError as error:
                if not self._over.is_set():
                    self._log.warning("sign of life not taken: %s", error)
