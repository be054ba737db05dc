"""Loading the page once: navigate, wait for load, let it settle, run the behaviors, let it settle again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from comity.capture import banners, behaviors, verdicts
from comity.capture.cdp import Params
from comity.capture.errors import CaptureFault
from comity.capture.held_requests import HeldRequests
from comity.capture.recorder import Recorder
from comity.capture.settings import Settings
from comity.capture.settle import Settler
from comity.capture.tab import Tab
from comity.contract.capture import Banners, CaptureRequest, LoadWait, Settle

AFTERWARDS_MS = 30_000
"""Behaviors leave so much of the capture's budget for settling again, reading the page and its last bodies."""
MARGIN_S = 5.0
"""A call's own budget lies this far beyond the wait around it, so that one of them decides and names the step."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """How one page load went. `settle` is of the last wait; None for a download, which shows no page."""

    settle: Settle | None
    runs: tuple[behaviors.Run, ...] = ()
    banners: Banners | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """The page and who listens to it."""

    tab: Tab
    recorder: Recorder
    held: HeldRequests


async def load(
    page: Watched,
    request: CaptureRequest,
    settings: Settings,
    *,
    ratio: int,
    again: bool,
    ends_s: float,
    on_load: Callable[[], None] = lambda: None,
) -> Loaded:
    """Loads the page at one device pixel ratio. Raises CaptureFault. `ends_s` is the loop time when all must be done.

    `again`: not the first load of this tab, which began with the ratio of that one. It then passes an empty page, or a
    URL with a fragment would only scroll. `on_load` is called when the page has loaded, before it comes to rest.
    """
    tab = page.tab
    if again:
        await tab.within(
            tab.main.call("Emulation.setDeviceMetricsOverride", tab.setup.metrics(ratio)),
            budget_ms=settings.step_ms,
            what="setting the screen",
            step="navigate",
        )
        await _navigate(page, "about:blank", settings, ends_s)
    page.recorder.give_way()
    if not await _navigate(page, request.url, settings, ends_s):
        return Loaded(settle=None)
    _check_status(page.recorder)
    whole = await _await_load(page, settings)
    page.recorder.catch_up()
    on_load()
    wait = request.load_wait or LoadWait()
    settler = Settler(tab, page.recorder, wait)
    settle = await _settle(page, settler, wait, whole, settings)
    _check_page(page)
    passes: list[Banners] = []
    runs: list[behaviors.Run] = []
    spec = banners.spec_of(request.dismiss_banners)
    if spec is not None:
        passes.append(await banners.dismiss(tab, spec))
    if request.behaviors:
        left_ms = round((ends_s - asyncio.get_running_loop().time()) * 1000)
        behaviors_ms = max(0, min(settings.behaviors_ms, left_ms - AFTERWARDS_MS))
        runs = await tab.within(
            behaviors.run(tab, request.behaviors, budget_ms=behaviors_ms),
            budget_ms=behaviors_ms + round(MARGIN_S * 1000) * 2,
            what="the behaviors",
            step="behaviors",
        )
        if spec is not None:
            passes.append(await banners.dismiss(tab, spec))
    if request.behaviors or any(one.dismissed or one.errors for one in passes):
        settle = await _settle(page, settler, wait, whole, settings)
        _check_page(page)
    return Loaded(settle=settle, runs=tuple(runs), banners=banners.together(passes))


async def _navigate(page: Watched, url: str, settings: Settings, ends_s: float) -> bool:
    """Goes to `url`; False: it is a download, and read to its end. Raises CaptureFault."""
    tab = page.tab
    tab.state.loaded.clear()
    tab.state.interactive.clear()
    page.held.begun.clear()
    left_s = max(0.0, ends_s - asyncio.get_running_loop().time() - MARGIN_S)
    going = asyncio.create_task(tab.main.call("Page.navigate", {"url": url}, budget_s=left_s + MARGIN_S))
    going.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await tab.within(
            _either(going, page.held.begun),
            budget_ms=settings.navigation_ms,
            what="the page's first answer",
            step="navigate",
        )
        # The browser answers for a download when that has come whole.
        answer: Params = await tab.within(
            going, budget_ms=round(left_s * 1000), what="the page's download", step="navigate"
        )
    finally:
        going.cancel()
    if page.held.downloads and (answer.get("isDownload") or answer.get("errorText")):
        return False
    if answer.get("isDownload"):
        reason = "the page is a download by its bytes, though not by its Content-Type, and the browser keeps none of it"
        raise CaptureFault("http", reason, step="navigate")
    if answer.get("errorText"):
        raise _unshown(page, url, answer["errorText"])
    return True


async def _either(work: "asyncio.Task[Any]", event: asyncio.Event) -> None:
    """Returns when the work is done, however, or the event set."""
    wait: asyncio.Task[Any] = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({work, wait}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        wait.cancel()


def main_status(recorder: Recorder) -> int | None:
    """The status of the main document shown last; None before any."""
    if recorder.main is None:
        return None
    recorder.main.join_exact()
    return recorder.main.last.status


def _unshown(page: Watched, url: str, error: str) -> CaptureFault:
    """Why the browser shows nothing of `url`, or of where that led."""
    recorder = page.recorder
    last = recorder.main.last.url if recorder.main is not None else url
    outcome = recorder.no_way_to(last) if error in verdicts.NO_WAY else None
    return verdicts.no_way_fault(outcome) if outcome else verdicts.navigation_fault(error, main_status(recorder))


def _check_page(page: Watched) -> None:
    """Raises where the page answered with an error, or went by itself where nothing could be shown."""
    _check_status(page.recorder)
    gone_to = page.tab.state.unreachable_url
    if gone_to is not None:
        error = page.recorder.main.error if page.recorder.main is not None else ""
        raise _unshown(page, gone_to, error or f"the page went to {gone_to[:500]}, which the browser could not show")


def _check_status(recorder: Recorder) -> None:
    status = main_status(recorder)
    if status is not None and status >= 400:
        raise verdicts.http_error(status)


async def _await_load(page: Watched, settings: Settings) -> bool:
    """Waits for the load event; False: something hangs, and the page is taken as it stands. Raises CaptureFault."""
    tab, recorder = page.tab, page.recorder
    try:
        await tab.within(
            _first(tab.state.loaded, recorder.main_broke),
            budget_ms=settings.load_ms,
            what="the page's load event",
            step="load",
        )
    except CaptureFault as fault:
        if fault.kind == "timeout" and tab.state.interactive.is_set():
            return False
        raise
    if recorder.main_broke.is_set() and not tab.state.loaded.is_set():
        error = recorder.main.error if recorder.main is not None else ""
        raise verdicts.broken_off(error, full_bytes=settings.max_task_bytes if recorder.full else None)
    return True


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _settle(page: Watched, settler: Settler, wait: LoadWait, whole: bool, settings: Settings) -> Settle:
    if not whole:
        # The network is what hangs: waiting longer for its rest would be waiting twice.
        return Settle(outcome="max", waited_ms=0, pending_requests=page.recorder.open_requests)
    return await page.tab.within(
        settler.wait(), budget_ms=wait.max_ms + settings.step_ms, what="settling", step="settle"
    )


async def pause(tab: Tab, delay_ms: int) -> None:
    """The operation delay, before anything is taken from the page. Raises CaptureFault if the page dies meanwhile."""
    if delay_ms:
        await tab.within(asyncio.sleep(delay_ms / 1000), budget_ms=delay_ms + 1000, what="the delay", step="settle")
