"""What capturing costs over loading.

The baseline is a bare load in the same browser program, with the same flags, behind the same guard and with nothing in
its cache: a new context, a page, its load event, the context gone, and nothing awaited that need not be. Beside it, in
the same run and turn by turn in an order drawn anew, one capture server makes a WACZ, and all six formats, of the same
page. A capture's time is its caller's, from asking to the answer, without what it waited for the page to come to rest
(`settle.waitedMs`); that its files are on disk is part of it, and a bare load has none.

Three pages, see `bench.capturing.pages`. A moment passes between turns, as it does between pages of a polite crawl: a
server opens its next blank page then. Two lines show what that saves: what a capture costs that is asked for at once
after another, and a bare load from when its page was ready.

Prints medians, the quickest of each, and ratios of both. On each page the median of the WACZ must not be over
`MOST_WACZ`, of all formats not over `MOST_ALL` times the bare load's; exit 1 where one is. `brozzle-page` with
`warcprox` is shown where it is installed (`bench.capturing.peer`), and judges nothing.
"""

import asyncio
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from bench.capturing.pages import TITLES, served
from bench.capturing.peer import NotMeasuredError, peer_s
from comity.capture.browser import Browser
from comity.capture.cdp import Params
from comity.capture.egress.guard import EgressGuard
from comity.capture.processes import find_browser
from comity.polite.rules.addresses import egress_rules
from tests.integration.capture.server import CaptureServer, request

MOST_WACZ = 1.15
MOST_ALL = 3.0
ROUNDS = 15
WARM_ROUNDS = 2
PAUSE_S = 0.3
LOAD_BUDGET_S = 30.0
ALLOWED = "127.0.0.0/8"
BARE, READY = "bare load", "its page ready"
WACZ, AT_ONCE, ALL = "wacz", "wacz, at once", "all six formats"
MOST = {WACZ: MOST_WACZ, ALL: MOST_ALL}
FORMATS = ("png", "webp", "html", "links", "mhtml", "wacz")
Times = dict[str, list[float]]
"""Seconds by what was done, turn by turn."""


def main() -> int:
    """0 where all ratios are within their limits."""
    with served() as site, tempfile.TemporaryDirectory(prefix="comity-bench-") as folder:
        times = asyncio.run(_measure(site, Path(folder)))
        within = [_told(title, times[path]) for path, title in TITLES.items()]
        path, title = next(iter(TITLES.items()))
        try:
            took_s = peer_s(f"{site}{path}", Path(folder))
            ratio = took_s / statistics.median(times[path][BARE])
            print(f"{title}: brozzle-page {took_s:.1f} s with warcprox, process start included   ratio {ratio:5.1f}")
        except NotMeasuredError as reason:
            print(f"brozzle-page   not measured: {reason}")
    return 0 if all(within) else 1


def _told(title: str, times_s: Times) -> bool:
    """Prints a page's lines; whether it is within its limits."""
    bare_s, quickest_s = statistics.median(times_s[BARE]), min(times_s[BARE])
    within = True
    print(title)
    for name, all_s in times_s.items():
        median_s, most = statistics.median(all_s), MOST.get(name)
        best_s = min(all_s)
        print(
            f"  {name:16} {median_s * 1000:6.0f} ms   ratio {median_s / bare_s:5.2f}   "
            f"quickest {best_s * 1000:5.0f} ms   ratio {best_s / quickest_s:5.2f}"
            + (f"   at most {most}" if most is not None else "")
        )
        within = within and (most is None or median_s <= most * bare_s)
    return within


async def _measure(site: str, folder: Path) -> dict[str, Times]:
    """By path of the page."""
    times: dict[str, Times] = {path: {BARE: [], READY: [], WACZ: [], AT_ONCE: [], ALL: []} for path in TITLES}
    with CaptureServer(folder / "store", CAPTURE_RECYCLE_CAPTURES="1000") as server:
        async with _browser() as browser, httpx.AsyncClient(trust_env=False, timeout=120) as client:
            for turn in range(WARM_ROUNDS + ROUNDS):
                for path, measured in times.items():
                    taken = await _turn(browser, client, server, f"{site}{path}")
                    if turn >= WARM_ROUNDS:
                        for name, one_s in taken.items():
                            measured[name].append(one_s)
    return times


async def _turn(browser: Browser, client: httpx.AsyncClient, server: CaptureServer, url: str) -> dict[str, float]:
    taken: dict[str, float] = {}
    for name in random.sample((BARE, WACZ, ALL), 3):
        await asyncio.sleep(PAUSE_S)
        if name == BARE:
            taken[BARE], taken[READY] = await _bare_s(browser, url)
        else:
            taken[name] = await _capture_s(client, server, url, *(FORMATS if name == ALL else ("wacz",)))
        if name == WACZ:
            taken[AT_ONCE] = await _capture_s(client, server, url, "wacz")
    return taken


@contextlib.asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    guard = EgressGuard(egress_rules(ALLOWED))
    await guard.start()
    program = find_browser(os.environ.get("COMITY_BROWSER"))
    browser = Browser(program, proxy=guard.ports, recycle_captures=100_000, recycle_age_ms=86_400_000)
    try:
        yield browser
    finally:
        await browser.end()
        await guard.end()


async def _bare_s(browser: Browser, url: str) -> tuple[float, float]:
    """A page loaded and nothing else, as a person's tab would: all of it, and from when the page was ready."""
    connection = await browser.ready()
    root = connection.root
    started_s = time.perf_counter()
    context = (await root.call("Target.createBrowserContext", {"disposeOnDetach": True}))["browserContextId"]
    attached: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def on_target(params: Params) -> None:
        connection.session(params["sessionId"]).post("Runtime.runIfWaitingForDebugger")
        if not attached.done():
            attached.set_result(params["sessionId"])

    browser.on_target = on_target
    await root.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})
    session = connection.session(await attached)
    loaded = asyncio.Event()
    session.listener = lambda method, _: loaded.set() if method == "Page.loadEventFired" else None
    screen = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    await asyncio.gather(session.call("Page.enable"), session.call("Emulation.setDeviceMetricsOverride", screen))
    ready_s = time.perf_counter()
    loaded.clear()
    await session.call("Page.navigate", {"url": url})
    async with asyncio.timeout(LOAD_BUDGET_S):
        await loaded.wait()
    browser.on_target = None
    await root.call("Target.disposeBrowserContext", {"browserContextId": context})
    ended_s = time.perf_counter()
    return ended_s - started_s, ended_s - ready_s


async def _capture_s(client: httpx.AsyncClient, server: CaptureServer, url: str, *formats: str) -> float:
    """From asking to the answer, without settling. SystemExit where the capture is not whole."""
    body = json.dumps(request(url, *formats))
    started_s = time.perf_counter()
    answer = await client.post(f"{server.url}/captures", content=body)
    took_s = time.perf_counter() - started_s
    report: dict[str, Any] = answer.json()["report"]
    if report["status"] != "success" or not report["completeness"]["complete"]:
        raise SystemExit(f"the capture is not whole: {report}")
    return took_s - float(report["settle"]["waitedMs"]) / 1000


if __name__ == "__main__":
    sys.exit(main())
