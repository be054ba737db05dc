"""The one browser of this server: started when needed, replaced when old, gone when we are gone."""

import asyncio
import logging
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from comity.capture import processes
from comity.capture.cdp import CdpError, Connection, Params
from comity.capture.egress.ports import ProxyPorts
from comity.capture.errors import CaptureFault
from comity.capture.last_words import last_words
from comity.capture.shared_session import SharedSession

START_BUDGET_S = 20.0
"""From starting the process to its first answer; 0.1 s on an idle machine."""
ANSWER_BUDGET_S = 2.0
"""Between captures: a browser that is slow then is replaced at little cost."""
BUSY_BUDGET_S = 10.0
"""During a capture: moving a hundred megabytes about keeps a browser from answering for seconds."""
TRIES = 2
NETWORK_SERVICE = "network.mojom.NetworkService"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """What the browser says it is."""

    product: str
    user_agent: str


class Browser:
    """Starts, replaces and ends the browser process. Not for concurrent use: one capture at a time.

    `proxy`: the egress guard, its only way to the network.
    """

    def __init__(self, executable: str, *, proxy: ProxyPorts, recycle_captures: int, recycle_age_ms: int) -> None:
        self._executable = executable
        self._proxy = proxy
        self._recycle_captures = recycle_captures
        self._recycle_age_s = recycle_age_ms / 1000
        self._process: asyncio.subprocess.Process | None = None
        self._profile: Path | None = None
        self._watch: asyncio.Task[None] | None = None
        self._captures = 0
        self.starts = 0
        """Browsers started so far."""
        self._started_s = 0.0
        self._services: set[int] = set()
        self.connection: Connection | None = None
        self.shared = SharedSession()
        self.identity: Identity | None = None
        self.on_target: Callable[[Params], None] | None = None
        """Called for each page or worker that appears, paused, with the event's parameters."""

    @property
    def connected(self) -> bool:
        """Whether a browser runs and its pipe is open."""
        return self.connection is not None and not self.connection.closed.is_set()

    @property
    def process_id(self) -> int | None:
        """The browser's process id and process group."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    @property
    def fit(self) -> bool:
        """Whether the next capture will use the browser that runs now, as far as can be told without asking it."""
        return self.connected and not self._worn()

    async def ready(self) -> Connection:
        """A browser fit for the next capture, started or replaced as needed. Raises CaptureFault."""
        if self.fit and await self.whole():
            return self._open()
        await self.end()
        for left in reversed(range(TRIES)):
            try:
                await self._start()
            except (CdpError, OSError, TimeoutError) as error:
                await self.end()
                log.warning("the browser did not start: %s", error)
                if not left:
                    said = await last_words(self._executable)
                    raise CaptureFault(
                        "internal", f"the browser did not start: {said or error}", step="browser"
                    ) from None
            else:
                break
        return self._open()

    def count(self) -> None:
        """One more capture was done with this browser."""
        self._captures += 1

    def condemn(self) -> None:
        """The browser failed a capture in a way that may last: the next capture gets a new one."""
        self._captures = self._recycle_captures

    async def end(self) -> None:
        """Ends the browser and removes its profile. Safe to call again."""
        connection, self.connection = self.connection, None
        process, self._process = self._process, None
        profile, self._profile = self._profile, None
        if process is not None:
            await processes.end(process)
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if connection is not None:
            await connection.close()
        if profile is not None:
            await asyncio.to_thread(shutil.rmtree, profile, ignore_errors=True)

    def _open(self) -> Connection:
        if self.connection is None:
            raise CaptureFault("internal", "the browser ended while it was started; try again", step="browser")
        return self.connection

    def _worn(self) -> bool:
        return self._captures >= self._recycle_captures or time.monotonic() - self._started_s > self._recycle_age_s

    async def whole(self, *, budget_s: float = ANSWER_BUDGET_S) -> bool:
        """Whether the browser answers, and has the network service that it began with.

        Silence is death: a stopped browser answers nothing any more. A network service that died is started again by
        the browser, but that one gives no bodies. There is none before the first page. Never raises.
        """
        try:
            told = await self._open().root.call("SystemInfo.getProcessInfo", budget_s=budget_s)
        except (CdpError, CaptureFault) as error:
            log.warning("the browser does not answer: %s", error)
            return False
        services = {int(one["id"]) for one in told["processInfo"] if one["type"] == NETWORK_SERVICE}
        self._services = self._services or services
        if services != self._services:
            log.warning("the browser's network service is another one: %s, not %s", services, self._services)
        return services == self._services

    async def _start(self) -> None:
        self._profile = Path(tempfile.mkdtemp(prefix="comity-browser-"))
        started = await processes.start(self._executable, self._profile, self._proxy)
        self._process = started.process
        self.connection = Connection(started.reader, started.writer)
        self._watch = asyncio.create_task(_tell_end(started.ended, self.connection), name="browser-end")
        root = self.connection.root
        root.listener = self._root_event
        version = await root.call("Browser.getVersion", budget_s=START_BUDGET_S)
        self.identity = Identity(product=version["product"], user_agent=version["userAgent"])
        await root.call("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True})
        self._started_s = time.monotonic()
        self._captures = 0
        self._services = set()
        self.starts += 1
        log.info("browser %s started, process %d", self.identity.product, self._process.pid)

    def _root_event(self, method: str, params: Params) -> None:
        connection = self.connection
        if connection is None:
            return
        if method == "Target.attachedToTarget":
            if self.on_target is not None:
                self.on_target(params)
            else:
                connection.session(params["sessionId"]).post("Runtime.runIfWaitingForDebugger")
        elif method == "Target.detachedFromTarget":
            connection.drop_session(params["sessionId"], "the page is gone")


async def _tell_end(ended: asyncio.Event, connection: Connection) -> None:
    """The pipe alone does not tell that the browser is dead: its children hold their copies of it open."""
    await ended.wait()
    connection.lost()
