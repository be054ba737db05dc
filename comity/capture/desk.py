"""One capture at a time: who is let in, and how one is ended from outside."""

import asyncio
import contextlib

from fastapi import Request

from comity.capture import logs
from comity.capture.capture import Capture
from comity.capture.memory import collect
from comity.capture.metrics import Metrics
from comity.capture.opening import Equipment
from comity.contract.capture import CaptureAnswer, CaptureRequest


class Desk:
    """Lets one capture at a time in, and can end it."""

    def __init__(self, equipment: Equipment) -> None:
        self.equipment = equipment
        self.metrics = Metrics()
        self._running: asyncio.Task[CaptureAnswer] | None = None
        self._ending = False

    @property
    def busy(self) -> bool:
        """Whether a capture is under way."""
        return self._running is not None

    @property
    def open(self) -> bool:
        """Whether a capture would be let in now."""
        return self._running is None and not self._ending

    async def capture(self, request: CaptureRequest, task_id: str, caller: Request) -> CaptureAnswer:
        """One capture; a caller that hangs up cancels it."""
        logs.task_id.set(task_id)
        task = asyncio.create_task(Capture(self.equipment, request, task_id).run(), name=f"capture-{task_id}")
        self._running = task
        hung_up = asyncio.create_task(_until_hung_up(caller))
        try:
            await asyncio.wait({task, hung_up}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
            answer = await task
            self.metrics.count(answer.report, manifest_kept=answer.manifest.location is not None)
            return answer
        finally:
            hung_up.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await hung_up
            self._running = None

    async def make_ready(self) -> None:
        """Begins what the next capture will want. For when the caller has its answer: it would have to wait for it."""
        if self.open:
            self.equipment.spare.prepare()
            collect()

    def cancel(self) -> None:
        """Ends the capture under way, and lets none in any more: the server is ending."""
        self._ending = True
        if self._running is not None:
            self._running.cancel()


async def _until_hung_up(caller: Request) -> None:
    while (await caller.receive())["type"] != "http.disconnect":
        continue
