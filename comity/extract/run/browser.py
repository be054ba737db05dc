"""Pages that a real browser loads: what this room asks of whoever has one."""

from typing import Protocol

from comity.extract.run.failures import Failure

CAPABILITIES = frozenset({
    "browser.navigate", "browser.query", "browser.read-attr", "browser.read-html", "browser.read-text",
})  # fmt: skip
"""What is done with a page that was loaded once and saved. Workflows and JavaScript values need more."""


class BrowserPages(Protocol):
    """A browser that loads one page at a time. A capture server is one: `POST /captures` with `html`."""

    async def load(self, url: str, *, timeout_ms: int) -> str | Failure:
        """The page's HTML once it has settled, as text, or why there is none; within `timeout_ms`.

        Codes: E_URL_POLICY, E_HTTP_STATUS, E_TIMEOUT, E_BROWSER_ACQUIRE (no browser is free, or none answers),
        E_BROWSER_NAVIGATE, E_BROWSER_READ. Never raises; cancellation passes through.
        """
        ...
