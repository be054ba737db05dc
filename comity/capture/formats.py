"""What is taken from the page at rest: its rendered HTML, its links, its pictures, its MHTML, its title and text.

The scripts run in an isolated world: whatever the page did to its own globals does not reach them.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from comity.capture.cdp import CallRefusedError, Params
from comity.capture.errors import CaptureFault
from comity.capture.tab import WORLD, Tab
from comity.contract.capture import LinksFile, PageLink, PageRobots

MAX_LINKS = 50_000
MAX_LINK_TEXT = 1000
MAX_ROBOTS = 100
MAX_ROBOTS_VALUE = 8192
MAX_PAGE_TEXT = 1_000_000
MAX_SCREEN_PIXELS = 16_384
"""What the browser can draw in one direction; a longer page is cut there."""
TRIES = 8
PAUSE_S = 0.1
LEFT = (
    "Cannot find context with specified id",
    "Execution context was destroyed",
    "Inspected target navigated or closed",
    "Not attached to an active page",
)
"""What a question to a page is answered with when the page goes elsewhere before it has answered."""
log = logging.getLogger(__name__)

HTML = """(() => {
  const type = document.doctype;
  const quoted = text => '"' + text + '"';
  const head = type ? '<!DOCTYPE ' + type.name + (type.publicId ? ' PUBLIC ' + quoted(type.publicId) : '') +
    (type.systemId ? (type.publicId ? ' ' : ' SYSTEM ') + quoted(type.systemId) : '') + '>\\n' : '';
  return head + (document.documentElement ? document.documentElement.outerHTML : '');
})()"""
LINKS = f"""(() => {{
  const found = [];
  for (const element of document.querySelectorAll('a[href], area[href]')) {{
    if (found.length >= {MAX_LINKS}) break;
    const href = typeof element.href === 'string' ? element.href : (element.href && element.href.baseVal ?
      new URL(element.href.baseVal, document.baseURI).href : '');
    if (!href) continue;
    const text = (element.textContent || element.getAttribute('alt') || '').replace(/\\s+/g, ' ').trim();
    found.push([href.slice(0, 8192), text.slice(0, {MAX_LINK_TEXT}), element.getAttribute('rel')]);
  }}
  const robots = [];
  for (const element of document.querySelectorAll('meta[name][content]')) {{
    if (robots.length >= {MAX_ROBOTS}) break;
    const name = element.getAttribute('name').trim().toLowerCase();
    if (name === 'robots' || name === 'comity')
      robots.push([name, element.getAttribute('content').slice(0, {MAX_ROBOTS_VALUE})]);
  }}
  return JSON.stringify([found, robots]);
}})()"""
ABOUT = f"""(() => {{
  const root = document.scrollingElement || document.documentElement;
  const seen = Math.max(Math.round(scrollY + innerHeight), globalThis.watch ? globalThis.watch.seenPx : 0);
  return JSON.stringify([document.URL, document.title,
    (document.body ? document.body.innerText : '').slice(0, {MAX_PAGE_TEXT}),
    root ? root.scrollHeight : 0, innerHeight, seen]);
}})()"""
ROUNDING_PX = 2


class _PageLeftError(Exception):
    """The page that was asked is gone; the one that follows it may answer."""


@dataclass(frozen=True, slots=True)
class About:
    """The page's own address, title and visible text; its height, the window's, and the lowest line ever in view."""

    url: str
    title: str
    text: str
    document_px: int = 0
    window_px: int = 0
    seen_px: int = 0

    @property
    def all_seen(self) -> bool:
        """Whether the document's end was in view at some time."""
        return self.seen_px >= self.document_px - ROUNDING_PX


class Reader:
    """Reads the page at rest. Each call has `step_ms`, and raises CaptureFault naming the step."""

    def __init__(self, tab: Tab, step_ms: int) -> None:
        self._tab = tab
        self._step_ms = step_ms

    async def html(self) -> bytes:
        """The rendered DOM, serialised, UTF-8."""
        return str(await self.evaluate(HTML, "html")).encode("utf-8", "replace")

    async def links(self, url: str, final_url: str, robots_headers: Sequence[str]) -> bytes:
        """`….links.json`: `a[href]` and `area[href]` of the main frame in document order, resolved.

        `robots_headers`: each `X-Robots-Tag` that the document came with.
        """
        found, metas = json.loads(str(await self.evaluate(LINKS, "links")))
        links = [PageLink(href=str(href), text=text or None, rel=rel) for href, text, rel in found]
        robots = [PageRobots(source="meta", name=name, value=value) for name, value in metas]
        robots += [PageRobots(source="header", value=value[:MAX_ROBOTS_VALUE]) for value in robots_headers[:MAX_ROBOTS]]
        page = LinksFile(url=url, final_url=final_url, links=links, robots=robots)
        return json.dumps(page.to_wire(), ensure_ascii=False).encode("utf-8", "replace")

    async def about(self) -> About:
        """Address, title, text and measures."""
        return About(*json.loads(str(await self.evaluate(ABOUT, "read"))))

    async def png(self, *, full_page: bool) -> bytes:
        """A screenshot of the viewport, or of the whole page."""

        async def once() -> Params:
            clip = await self._whole_page("png") if full_page else {}
            return await self._call("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True} | clip, "png")

        return base64.b64decode((await self._steadily(once, "png"))["data"])

    async def mhtml(self) -> bytes:
        """The page as it stands in one file (RFC 2557), frames and pictures included, scripts without effect."""
        answer = await self._steadily(lambda: self._call("Page.captureSnapshot", {"format": "mhtml"}, "mhtml"), "mhtml")
        return str(answer["data"]).encode("utf-8", "replace")

    async def _whole_page(self, step: str) -> Params:
        metrics = await self._call("Page.getLayoutMetrics", {}, step)
        size = metrics["cssContentSize"]
        clip = {
            "x": 0,
            "y": 0,
            "width": min(max(1, size["width"]), MAX_SCREEN_PIXELS),
            "height": min(max(1, size["height"]), MAX_SCREEN_PIXELS),
            "scale": 1,
        }
        return {"captureBeyondViewport": True, "clip": clip}

    async def evaluate(self, expression: str, step: str) -> Any:
        """The value of an expression in a world of our own in the main frame; a promise is awaited."""
        answer = await self._steadily(lambda: self._evaluate(expression, step), step)
        if "exceptionDetails" in answer:
            told = answer["exceptionDetails"].get("exception", {}).get("description", "")
            raise CaptureFault("internal", f"the page could not be read: {str(told)[:500]}", step=step)
        return answer["result"].get("value")

    async def _evaluate(self, expression: str, step: str) -> Params:
        world = await self._call("Page.createIsolatedWorld", {"frameId": self._tab.frame_id, "worldName": WORLD}, step)
        params = {
            "expression": expression,
            "contextId": world["executionContextId"],
            "returnByValue": True,
            "awaitPromise": True,
            "silent": True,
        }
        return await self._call("Runtime.evaluate", params, step)

    async def _steadily(self, work: Callable[[], Awaitable[Params]], step: str) -> Params:
        """Does `work` again where the page went elsewhere meanwhile. Raises CaptureFault where it never stays."""
        for left in reversed(range(TRIES)):
            try:
                return await work()
            except _PageLeftError as error:
                log.info("the page went elsewhere while it was read (%s)", error)
                if left:
                    await asyncio.sleep(PAUSE_S)
        raise CaptureFault(
            "timeout",
            f"the page went elsewhere each of {TRIES} times that it was read",
            step=step,
            timeout_ms=round(TRIES * PAUSE_S * 1000),
        )

    async def _call(self, method: str, params: Params, step: str) -> Params:
        return await self._tab.within(
            self._ask(method, params),
            budget_ms=self._step_ms,
            what=f"the page's answer ({step})",
            step=step,
        )

    async def _ask(self, method: str, params: Params) -> Params:
        try:
            return await self._tab.main.call(method, params, budget_s=self._step_ms / 1000 + 1)
        except CallRefusedError as refused:
            if any(said in str(refused) for said in LEFT):
                raise _PageLeftError(str(refused)) from None
            raise
