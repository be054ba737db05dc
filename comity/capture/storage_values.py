"""What the page's origins keep in web storage, read on request for the archive and nowhere else."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from comity.archive.wacz import Member
from comity.capture.cdp import CdpError, Params, Session
from comity.capture.errors import CaptureFault
from comity.capture.tab import WORLD, Tab
from comity.contract.wire import rfc3339

BUDGET_MS = 10_000
CALL_BUDGET_S = 2.0
MAX_FRAMES = 100
MAX_CHARACTERS = 8 * 1024 * 1024
"""Of one storage area: above what the browser grants an origin (5 MiB of UTF-16)."""

READ = f"""(() => {{
  const area = name => {{
    try {{
      const found = {{}};
      let left = {MAX_CHARACTERS}, cut = false;
      const storage = globalThis[name];
      for (let index = 0; index < storage.length; index += 1) {{
        const key = storage.key(index), value = storage.getItem(key);
        left -= key.length + value.length;
        if (left < 0) {{ cut = true; break; }}
        found[key] = value;
      }}
      return {{values: found, cut}};
    }} catch (error) {{
      return {{error: String(error.name)}};
    }}
  }};
  return JSON.stringify({{
    origin: globalThis.origin, localStorage: area('localStorage'), sessionStorage: area('sessionStorage')}});
}})()"""


async def members(tab: Tab) -> tuple[Member, ...]:
    """`storage/<origin>.json` for every origin that the page's frames have. Raises CaptureFault if the page dies."""
    found: dict[str, dict[str, Any]] = {}
    try:
        await tab.within(_read_all(tab, found), budget_ms=BUDGET_MS, what="reading web storage", step="storage")
    except CaptureFault as fault:
        if fault.kind != "timeout":
            raise
        # A frame that does not answer takes its own values away, not the capture.
    taken_at = rfc3339(datetime.now(UTC))
    return tuple(
        Member(
            path_of(origin),
            json.dumps({"takenAt": taken_at} | told, ensure_ascii=False, indent=2).encode("utf-8", "replace"),
        )
        for origin, told in sorted(found.items())
    )


def path_of(origin: str) -> str:
    """The origin's place in the archive: `http://a.example:8080` becomes `storage/http+a.example+8080.json`."""
    parts = urlsplit(origin)
    pieces = [parts.scheme, parts.hostname or "", *([str(parts.port)] if parts.port else [])]
    return f"storage/{'+'.join(quote(piece, safe='') for piece in pieces)}.json"


async def _read_all(tab: Tab, found: dict[str, dict[str, Any]]) -> None:
    left = MAX_FRAMES
    for session in tab.frame_sessions:
        try:
            tree = await session.call("Page.getFrameTree", budget_s=CALL_BUDGET_S)
        except CdpError:
            continue  # the frame has gone
        for frame_id in _frames(tree["frameTree"]):
            if left <= 0:
                return
            left -= 1
            told = await _read(session, frame_id)
            if told is not None and str(told["origin"]).startswith(("http://", "https://")):
                found.setdefault(told["origin"], told)


async def _read(session: Session, frame_id: str) -> dict[str, Any] | None:
    try:
        world = await session.call(
            "Page.createIsolatedWorld", {"frameId": frame_id, "worldName": WORLD}, budget_s=CALL_BUDGET_S
        )
        answer = await session.call(
            "Runtime.evaluate",
            {"expression": READ, "contextId": world["executionContextId"], "returnByValue": True, "silent": True},
            budget_s=CALL_BUDGET_S,
        )
    except CdpError:
        return None
    value = answer["result"].get("value")
    told: dict[str, Any] | None = json.loads(value) if isinstance(value, str) else None
    return told


def _frames(tree: Params) -> list[str]:
    return [tree["frame"]["id"], *(inner for child in tree.get("childFrames", []) for inner in _frames(child))]
