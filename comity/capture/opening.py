"""A page ready to be captured, in a browser that has shown that it can open one."""

import logging
from dataclasses import dataclass, field

from comity.capture.browser import BUSY_BUDGET_S, Browser
from comity.capture.cdp import Connection
from comity.capture.egress.book import Book
from comity.capture.egress.sockets import SocketGate
from comity.capture.errors import CaptureFault
from comity.capture.held_requests import HeldRequests
from comity.capture.load import Watched
from comity.capture.policies import Policies
from comity.capture.recorder import Recorder
from comity.capture.settings import Settings
from comity.capture.setup import Setup
from comity.capture.signing import Signing
from comity.capture.spare import Spare
from comity.capture.store import Store
from comity.capture.tab import Tab, Use
from comity.capture.tally import Limits
from comity.capture.trace import Trace
from comity.capture.warc_records import Exchanges
from comity.contract.capture import Build, CaptureRequest, Viewport

DEFAULT_VIEWPORT = Viewport(width=1280, height=800)
TRIES = 2
"""A browser may answer and yet open no page: one whose zygotes died has nobody to start a renderer."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Equipment:
    """What every capture of this server works with."""

    settings: Settings
    browser: Browser
    spare: Spare
    store: Store
    build: Build
    egress: Book
    sockets: SocketGate = field(default_factory=SocketGate)
    signing: Signing = field(default_factory=Signing)


async def open_page(
    equipment: Equipment, request: CaptureRequest, exchanges: Exchanges | None, trace: Trace
) -> Watched:
    """An empty page, watched from its first event on. Raises CaptureFault once two browsers have opened none."""
    for left in reversed(range(TRIES)):
        with trace.step("browser", "a browser that answers"):
            await equipment.spare.rest()
            connection = await equipment.browser.ready()
        equipment.browser.count()
        tab: Tab | None = None
        try:
            with trace.step("browser", "opening a page"):
                tab = await _blank(equipment, request, connection)
                page = await _begin(equipment, request, exchanges, trace, tab)
        except BaseException as error:
            if tab is not None:
                await tab.close()
            equipment.browser.condemn()
            if not left or not isinstance(error, CaptureFault):
                raise
            # Nothing has left for the page's site yet: another browser may do what this one could not.
            log.warning("another browser is started: %s", error)
        else:
            return page
    raise AssertionError("the last try returns or raises")


async def _blank(equipment: Equipment, request: CaptureRequest, connection: Connection) -> Tab:
    """A blank page, the one that is ready where it may be. Raises CaptureFault."""
    shared = request.session == "shared"
    if not shared:
        spare = await equipment.spare.take(connection)
        if spare is not None:
            return spare
    tab = Tab(equipment.browser, connection, shared=shared)
    try:
        await tab.open()
        if not await equipment.browser.whole(budget_s=BUSY_BUDGET_S):
            raise CaptureFault("internal", "a part of the browser died while it opened a page", step="browser")
    except BaseException:
        await tab.close()
        raise
    return tab


async def _begin(
    equipment: Equipment, request: CaptureRequest, exchanges: Exchanges | None, trace: Trace, tab: Tab
) -> Watched:
    """The page, and who listens to it. Raises CaptureFault."""
    settings = equipment.settings
    limit_bytes = request.max_response_bytes or settings.max_response_bytes
    policies = Policies(
        settings.url_policies if request.url_policies is None else request.url_policies,
        settings.content_type_policies if request.content_type_policies is None else request.content_type_policies,
    )
    limits = Limits(limit_bytes, settings.max_task_bytes, settings.max_pending_requests)
    equipment.egress.begin()
    equipment.sockets.begin()
    recorder = Recorder(exchanges, policies=policies, limits=limits, egress=equipment.egress)
    held = HeldRequests(recorder, policies, limit_bytes, request.accept_language)
    recorder.on_fault = tab.stop_with
    recorder.on_full = tab.cut_off
    recorder.main_frame = tab.frame_id
    if policies.may_deny_sockets:
        equipment.sockets.watch(tab.all_told)
        recorder.on_denied_socket = equipment.sockets.note_denied
    setup = _setup(settings, request, policies, limit_bytes)
    first_ratio = (request.device_pixel_ratios or [1])[0]
    await tab.begin(Use(setup, recorder.on_network, held.on_paused, trace, device_pixel_ratio=first_ratio))
    return Watched(tab, recorder, held)


def _setup(settings: Settings, request: CaptureRequest, policies: Policies, limit_bytes: int) -> Setup:
    viewport = request.viewport or DEFAULT_VIEWPORT
    return Setup(
        width=viewport.width,
        height=viewport.height,
        buffer_bytes=limit_bytes,
        task_bytes=settings.max_task_bytes,
        accept_language=request.accept_language,
        preload=tuple(script.source for script in request.preload),
        deny_patterns=tuple(policies.browser_patterns()),
        # In a shared session what the browser has kept would be missing from the second archive.
        cache_off=len(request.device_pixel_ratios or []) > 1 or request.session == "shared",
    )
