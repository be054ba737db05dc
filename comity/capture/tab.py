"""One page, in a browser context of its own unless the session is shared, with all its frames and workers.

It is watched from before its first request. It begins blank, alike for every capture (`open`), and is then told what
one capture asks for (`begin`): the first may be done before anybody has asked.

Every target of the page is attached while it still waits (`waitForDebuggerOnStart`): its recording is on before it
sends anything. Nothing is awaited of it in between, because a waiting target may not answer before it runs; the browser
does.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from comity.capture.bodies import RENDERER_KEEPS_BYTES
from comity.capture.browser import Browser
from comity.capture.cdp import CallTimeoutError, CdpError, Connection, Params, Session
from comity.capture.errors import CaptureFault, timed_out
from comity.capture.setup import WITH_PAGE, Setup
from comity.capture.trace import Trace

T = TypeVar("T")

WORLD = "comity"
"""The isolated world that our own scripts run in: the page can neither see nor disturb it."""
WITH_KEEPER = frozenset({"iframe", "worker"})
"""Besides the page. A service worker's own script is kept for no other session than the first."""
OPEN_BUDGET_S = 10.0
CLOSE_BUDGET_S = 1.5
KEEPER_BUDGET_S = 5.0
TOLD_BUDGET_S = 10.0
"""A script may keep its thread busy for so long before it tells what it began."""
MAX_POST_BYTES = 4 * 1024 * 1024
"""Request bodies up to here come with the event; larger ones are asked for."""


NetworkListener = Callable[[Session, str, Params], None]
PausedListener = Callable[[Session, Params], None]


@dataclass(slots=True)
class PageState:
    """Where the main frame is, from its events."""

    started: bool = False
    loading: bool = False
    loaded: asyncio.Event = field(default_factory=asyncio.Event)
    interactive: asyncio.Event = field(default_factory=asyncio.Event)
    unreachable_url: str | None = None
    """Where the page went and did not arrive: the browser shows an error page of its own."""
    document: int = 0
    """Counts committed main documents: a change means that the page went elsewhere."""


@dataclass(frozen=True, slots=True)
class Use:
    """What one capture makes of a blank page, and who listens to it."""

    setup: Setup
    network: NetworkListener
    paused: PausedListener
    trace: Trace
    device_pixel_ratio: int = 1
    """Of its first load."""


class Tab:
    """`open`, then `begin`; always closed with `close`. `main` is the page's own session."""

    def __init__(self, browser: Browser, connection: Connection, *, shared: bool = False) -> None:
        """`shared`: not a context of its own, but the one that the server keeps."""
        self._browser = browser
        self._connection = connection
        self._shared = shared
        self._use: Use | None = None
        self._trace = Trace()
        self._context_id: str | None = None
        self._targets: set[str] = set()
        self._waiting: set[str] = set()
        """Targets that have no keeper yet and do not run."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: list[Session] = []
        self._frames: list[Session] = []
        self._main: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._lost: asyncio.Future[CaptureFault] = asyncio.get_running_loop().create_future()
        self._bindings: dict[str, Callable[[str], None]] = {}
        self.main_target: str | None = None
        self.frame_id: str | None = None
        self.state = PageState()

    @property
    def main(self) -> Session:
        """The page's own session, once open."""
        return self._main.result()

    @property
    def setup(self) -> Setup:
        """What the capture asked for, once it has begun."""
        assert self._use is not None
        return self._use.setup

    def is_of(self, connection: Connection) -> bool:
        """Whether it lives in the browser behind this connection."""
        return self._connection is connection

    async def open(self) -> None:
        """Makes the context and its blank page. Raises CaptureFault."""
        root = self._connection.root
        self._browser.on_target = self._attached
        try:
            async with asyncio.timeout(OPEN_BUDGET_S):
                self._context_id = await self._context()
                root.post("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": self._context_id})
                root.post("Browser.grantPermissions", {"permissions": [], "browserContextId": self._context_id})
                target = await root.call(
                    "Target.createTarget", {"url": "about:blank", "browserContextId": self._context_id}
                )
                self.main_target = target["targetId"]
                main = await self._main
                main.keeper, main.lasting = await self._keeper(self.main_target), True
                tree = await main.call("Page.getFrameTree")
                self.frame_id = tree["frameTree"]["frame"]["id"]
        except (CdpError, TimeoutError) as error:
            raise CaptureFault("internal", f"the browser opened no page: {error}", step="browser") from None

    async def begin(self, use: Use) -> None:
        """Tells the blank page what the capture asks for; from now on it is listened to. Raises CaptureFault."""
        self._use, self._trace = use, use.trace
        self._browser.on_target = self._attached
        main = self.main
        if main.keeper is None:
            raise CaptureFault("internal", "the page was not opened", step="browser")
        self.setup.tell(main, "page")
        screen = self.setup.metrics(use.device_pixel_ratio)
        try:
            # Both at once: one is the browser's to answer, the other the renderer's.
            await asyncio.gather(
                main.keeper.call("Network.configureDurableMessages", self.setup.buffers, budget_s=OPEN_BUDGET_S),
                main.call("Emulation.setDeviceMetricsOverride", screen, budget_s=OPEN_BUDGET_S),
            )
        except CdpError as error:
            raise CaptureFault("internal", f"the blank page does not answer: {error}", step="browser") from None

    async def _keeper(self, target_id: str) -> Session:
        """A second session of the target, without events, that keeps bodies when a renderer drops them."""
        told = await self._connection.root.call("Target.attachToTarget", {"targetId": target_id, "flatten": True})
        return self._connection.session(told["sessionId"])

    async def _context(self) -> str:
        if self._shared:
            return await self._browser.shared.context(self._connection)
        made = await self._connection.root.call("Target.createBrowserContext", {"disposeOnDetach": True})
        return str(made["browserContextId"])

    async def close(self) -> None:
        """Tears the page down with its context. Never raises; a browser that does not answer is condemned."""
        self._browser.on_target = None
        for task in self._tasks:
            task.cancel()
        if self._context_id is None or self._connection.closed.is_set():
            return
        try:
            if self._shared:
                await self._browser.shared.leave(self._connection, self.main_target)
                return
            await self._connection.root.call(
                "Target.disposeBrowserContext", {"browserContextId": self._context_id}, budget_s=CLOSE_BUDGET_S
            )
        except CdpError:
            self._browser.condemn()
        except asyncio.CancelledError:
            self._browser.condemn()
            raise

    def cut_off(self) -> None:
        """Takes the network away: what is under way fails, and nothing new leaves."""
        offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        for session in self._sessions:
            session.post("Network.emulateNetworkConditions", offline)
            session.post("Page.stopLoading")

    async def all_told(self) -> bool:
        """Waits until every target of the page has told what it began before this call; False: one did not in time.

        A target answers only after what it told before. One that is gone meanwhile has nothing to tell.
        """
        asked = [session.call("Runtime.getIsolateId", budget_s=TOLD_BUDGET_S) for session in self._sessions]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return not any(isinstance(answer, CallTimeoutError) for answer in answers)

    @property
    def frame_sessions(self) -> tuple[Session, ...]:
        """The sessions of the page and of its frames in processes of their own, the page's first; some may be gone."""
        return tuple(self._frames)

    @property
    def gone(self) -> bool:
        """Whether the page or its browser has died, or a fault ends the capture at its next wait."""
        return self._lost.done() or self._connection.closed.is_set()

    def bind(self, name: str, receive: Callable[[str], None]) -> None:
        """Routes calls of the page's binding `name` to `receive`."""
        self._bindings[name] = receive

    def stop_with(self, fault: CaptureFault) -> None:
        """Ends the capture at its next wait."""
        if not self._lost.done():
            self._lost.set_result(fault)

    async def within(self, work: Awaitable[T], *, budget_ms: int, what: str, step: str) -> T:
        """Waits for `work`, for the page's death and for the budget, whichever comes first.

        Raises CaptureFault for the latter two, and for what the browser refuses.
        """
        with self._trace.step(step, what):
            return await self._within(work, budget_ms=budget_ms, what=what, step=step)

    async def _within(self, work: Awaitable[T], *, budget_ms: int, what: str, step: str) -> T:
        task = asyncio.ensure_future(work)
        closed = asyncio.ensure_future(self._connection.closed.wait())
        try:
            await asyncio.wait(
                {task, closed, self._lost}, timeout=budget_ms / 1000, return_when=asyncio.FIRST_COMPLETED
            )
            if self._lost.done():
                fault = self._lost.result()
                fault.step = fault.step or step
                raise fault
            if closed.done():
                raise CaptureFault("internal", f"the browser died during {what}", step=step)
            if not task.done():
                raise timed_out(what, budget_ms, step=step)
            return task.result()
        except CdpError as error:
            raise CaptureFault("internal", f"{what}: {error}", step=step) from None
        finally:
            closed.cancel()
            if not task.done():
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError, CdpError, CaptureFault):
                await task

    def _attached(self, params: Params) -> None:
        info = params["targetInfo"]
        session = self._connection.session(params["sessionId"])
        if info["targetId"] in self._waiting:
            return  # its keeper; it runs when that is told what to keep
        if info.get("browserContextId") != self._context_id or info["targetId"] in self._targets:
            session.post("Runtime.runIfWaitingForDebugger")
            return
        kind = info["type"]
        is_main = kind == "page" and not self._main.done()
        if kind == "page" and not is_main:
            # A window that the page opened: not this page. It runs, or the page would wait for it, but its requests are
            # held, and so it ends before the first of them leaves.
            session.post("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
            session.post("Runtime.runIfWaitingForDebugger")
            self._connection.root.post("Target.closeTarget", {"targetId": info["targetId"]})
            return
        self._targets.add(info["targetId"])
        self._sessions.append(session)
        session.listener = lambda method, event: self._event(session, is_main, method, event)
        if kind in WITH_PAGE:
            self._frames.append(session)
        self._prepare(session, kind, is_main=is_main)
        if is_main:
            self._main.set_result(session)
        if kind in WITH_KEEPER:
            self._waiting.add(info["targetId"])
            task = asyncio.create_task(self._run_kept(session, info["targetId"]), name="keeping-bodies")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            session.post("Runtime.runIfWaitingForDebugger")

    async def _run_kept(self, session: Session, target_id: str) -> None:
        """Lets a frame or worker run once its bodies are kept. Never raises."""
        try:
            async with asyncio.timeout(KEEPER_BUDGET_S):
                session.keeper = await self._keeper(target_id)
        except (CdpError, TimeoutError):
            pass  # the session keeps them itself, whole: without streams, which would lose bytes then
        finally:
            self._waiting.discard(target_id)
            (session.keeper or session).post("Network.configureDurableMessages", self.setup.buffers)
            session.post("Runtime.runIfWaitingForDebugger")

    def _prepare(self, session: Session, kind: str, *, is_main: bool) -> None:
        kept = {"maxTotalBufferSize": RENDERER_KEEPS_BYTES, "maxResourceBufferSize": RENDERER_KEEPS_BYTES}
        session.post("Network.enable", {"maxPostDataSize": MAX_POST_BYTES} | kept)
        if not is_main and kind not in WITH_KEEPER:
            session.post("Network.configureDurableMessages", self.setup.buffers)
        session.post("Network.setBypassServiceWorker", {"bypass": True})
        if kind in WITH_PAGE:
            session.post("Page.enable")
        if not is_main:
            self.setup.tell(session, kind)
        session.post("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True})

    def _event(self, session: Session, is_main: bool, method: str, params: Params) -> None:
        domain = method.partition(".")[0]
        if domain == "Network":
            if self._use is not None:
                self._use.network(session, method, params)
        elif domain == "Page":
            self._page_event(session, is_main, method, params)
        elif method == "Fetch.requestPaused":
            if self._use is not None:
                self._use.paused(session, params)
        elif method == "Target.attachedToTarget":
            self._attached(params)
        elif method == "Target.detachedFromTarget":
            self._connection.drop_session(params["sessionId"], "the frame or worker is gone")
        elif method == "Runtime.bindingCalled":
            receive = self._bindings.get(params["name"])
            if receive is not None:
                receive(params["payload"])
        elif method == "Inspector.targetCrashed":
            self._connection.fail_calls(session.session_id or "", "the page's renderer crashed")
            if is_main:
                self.stop_with(CaptureFault("internal", "the page's renderer crashed"))

    def _page_event(self, session: Session, is_main: bool, method: str, params: Params) -> None:
        if method == "Page.javascriptDialogOpening":
            accept = params.get("type") == "beforeunload"  # the only one whose dismissal would hold us on the page
            session.post("Page.handleJavaScriptDialog", {"accept": accept})
        elif not is_main:
            return
        elif method == "Page.loadEventFired":
            self.state.loaded.set()
        elif method == "Page.domContentEventFired":
            self.state.interactive.set()
        elif method == "Page.frameNavigated" and "parentId" not in params["frame"]:
            self.state.document += 1
            self.state.unreachable_url = params["frame"].get("unreachableUrl")
            self.state.loaded.clear()
            self.state.interactive.clear()
        elif params.get("frameId") == self.frame_id:
            if method == "Page.frameStartedLoading":
                self.state.started, self.state.loading = True, True
            elif method == "Page.frameStoppedLoading":
                self.state.loading = False
