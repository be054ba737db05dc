"""Waiting until a page is at rest: network, CPU and DOM quiet together for a while.

The DOM is watched by an observer in an isolated world, which the page can neither see nor disturb; CPU by the
browser's own task clock. A page that does not answer is busy.
"""

import asyncio
from dataclasses import dataclass

from comity.capture.cdp import CdpError, Params, Session
from comity.capture.recorder import Recorder
from comity.capture.tab import WORLD, Tab
from comity.contract.capture import LoadWait, Settle

POLL_MS = 50
PROBE_BUDGET_S = 1.0
BUSY_SHARE = 0.5
"""Of the main thread's time between two looks: more is busy. Polling itself costs 1-3 %."""
WATCH = """(() => {
  const now = () => performance.now();
  if (!globalThis.watch) {
    const watch = globalThis.watch = {changed: now(), seenPx: 0};
    const see = () => { watch.seenPx = Math.max(watch.seenPx, Math.round(scrollY + innerHeight)); };
    addEventListener('scroll', see, {capture: true, passive: true});
    see();
    new MutationObserver(() => { watch.changed = now(); }).observe(document, {
      subtree: true, childList: true, characterData: true, attributes: true});
  }
  const ending = document.getAnimations ? document.getAnimations().some(animation =>
    animation.playState === 'running' && animation.effect &&
    animation.effect.getComputedTiming().endTime !== Infinity) : false;
  return ending ? 0 : now() - globalThis.watch.changed;
})()"""
"""Milliseconds since the DOM last changed; an animation that will end is a change. Notes how far down was seen, too."""


@dataclass(slots=True)
class Look:
    """What one look at the page's main thread found."""

    dom_quiet_ms: float
    busy_s: float
    at_s: float


class Settler:
    """One per page load. `wait` may be called again after behaviors ran."""

    def __init__(self, tab: Tab, recorder: Recorder, wait: LoadWait) -> None:
        self._tab = tab
        self._recorder = recorder
        self._wait = wait
        self._context: int | None = None
        self._document = -1
        self._last: Look | None = None

    async def wait(self) -> Settle:
        """Returns when the page is quiet, or at `maxMs`. Raises nothing of the page's: silence is busy."""
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        quiet_since_s: float | None = None
        while True:
            elapsed_ms = (loop.time() - started_s) * 1000
            quiet = await self._quiet(max(POLL_MS, self._wait.max_ms - elapsed_ms))
            now_s = loop.time()
            elapsed_ms = (now_s - started_s) * 1000
            if not quiet:
                quiet_since_s = None
            elif quiet_since_s is None:
                quiet_since_s = now_s
            quiet_ms = 0.0 if quiet_since_s is None else (now_s - quiet_since_s) * 1000
            if quiet and quiet_ms >= self._wait.quiet_ms and elapsed_ms >= self._wait.min_ms:
                return self._outcome("quiet", elapsed_ms)
            if elapsed_ms >= self._wait.max_ms:
                return self._outcome("max", elapsed_ms)
            await asyncio.sleep(min(POLL_MS, self._wait.max_ms - elapsed_ms) / 1000)

    def _outcome(self, how: str, elapsed_ms: float) -> Settle:
        return Settle.model_validate(
            {"outcome": how, "waitedMs": round(elapsed_ms), "pendingRequests": self._recorder.open_requests}
        )

    async def _quiet(self, left_ms: float) -> bool:
        if self._tab.state.loading or self._recorder.open_requests > self._wait.network_concurrency:
            # Still look, so that the next share of busy time covers only its own interval.
            await self._look(left_ms)
            return False
        before = self._last
        look = await self._look(left_ms)
        if look is None or before is None:
            return False
        share = (look.busy_s - before.busy_s) / max(look.at_s - before.at_s, 0.001)
        interval_ms = (look.at_s - before.at_s) * 1000
        return share < BUSY_SHARE and look.dom_quiet_ms >= min(interval_ms, self._wait.quiet_ms)

    async def _look(self, left_ms: float) -> Look | None:
        budget_s = min(PROBE_BUDGET_S, left_ms / 1000)
        try:
            async with asyncio.timeout(budget_s):
                session = self._tab.main
                dom_quiet_ms = await self._dom_quiet(session)
                metrics = await session.call("Performance.getMetrics")
        except (CdpError, TimeoutError):
            self._context, self._last = None, None
            return None
        busy_s = next((item["value"] for item in metrics["metrics"] if item["name"] == "TaskDuration"), 0.0)
        self._last = Look(dom_quiet_ms, float(busy_s), asyncio.get_running_loop().time())
        return self._last

    async def _dom_quiet(self, session: Session) -> float:
        if self._context is None or self._document != self._tab.state.document:
            await session.call("Performance.enable", {"timeDomain": "timeTicks"})
            world = await session.call("Page.createIsolatedWorld", {"frameId": self._tab.frame_id, "worldName": WORLD})
            self._context, self._document = world["executionContextId"], self._tab.state.document
        answer: Params = await session.call(
            "Runtime.evaluate", {"expression": WATCH, "contextId": self._context, "returnByValue": True, "silent": True}
        )
        return float(answer["result"].get("value") or 0)
