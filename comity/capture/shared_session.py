"""The one browser context whose cookies outlive a capture, for servers that serve a single organisation.

Cookies are carried over when the browser is replaced; everything else that a site stores lives as long as the browser.
"""

import contextlib
from typing import Any

from comity.capture.cdp import CallRefusedError, Connection

BUDGET_S = 3.0


class SharedSession:
    """Not for concurrent use: one capture at a time."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._context_id: str | None = None
        self._cookies: list[dict[str, Any]] = []

    async def context(self, connection: Connection) -> str:
        """The context in this browser, made and given its cookies where it is new. Raises CdpError."""
        if self._context_id is None or self._connection is not connection:
            made = await connection.root.call("Target.createBrowserContext", {})
            context_id = str(made["browserContextId"])
            if self._cookies:
                await connection.root.call(
                    "Storage.setCookies", {"cookies": self._cookies, "browserContextId": context_id}
                )
            self._connection, self._context_id = connection, context_id
        return self._context_id

    async def leave(self, connection: Connection, target_id: str | None) -> None:
        """Closes the page and remembers the cookies. Raises CdpError; the browser is then not to be used again."""
        try:
            told = await connection.root.call(
                "Storage.getCookies", {"browserContextId": self._context_id}, budget_s=BUDGET_S
            )
            self._cookies = [_settable(cookie) for cookie in told["cookies"]]
        finally:
            if target_id is not None:
                await connection.root.call("Target.closeTarget", {"targetId": target_id}, budget_s=BUDGET_S)
        await self._end_workers(connection)

    async def _end_workers(self, connection: Connection) -> None:
        """A service worker would go on asking for things while nobody records them."""
        told = await connection.root.call("Target.getTargets", budget_s=BUDGET_S)
        for info in told["targetInfos"]:
            if info.get("browserContextId") == self._context_id and info["type"].endswith("worker"):
                with contextlib.suppress(CallRefusedError):
                    await connection.root.call("Target.closeTarget", {"targetId": info["targetId"]}, budget_s=BUDGET_S)


def _settable(cookie: dict[str, Any]) -> dict[str, Any]:
    """A cookie as told, as one to set: a session cookie has no expiry (the browser tells -1)."""
    kept = (
        "name",
        "value",
        "domain",
        "path",
        "httpOnly",
        "secure",
        "sameSite",
        "priority",
        "sourceScheme",
        "sourcePort",
    )
    settable = {name: cookie[name] for name in kept if name in cookie}
    if not cookie.get("session") and cookie.get("expires", -1) > 0:
        settable["expires"] = cookie["expires"]
    if cookie.get("partitionKey"):
        settable["partitionKey"] = cookie["partitionKey"]
    return settable
