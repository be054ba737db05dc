"""Running scripts in the loaded page, and keeping what they report.

The receptacle talks to us through a binding that is taken off the page's global object before any script runs. What
comes back is the page's own claim: the page could forge it, and it is kept as such.
"""

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from comity.archive.wacz import Member
from comity.capture.cdp import CallTimeoutError, CdpError, Params
from comity.capture.tab import Tab
from comity.contract.capture import PageScript
from comity.contract.wire import rfc3339

MAX_REPORT_BYTES = 64 * 1024
INSTALL_BUDGET_S = 5.0

INSTALL = """((binding, opts, endsInMs, ids, limit) => {
  const send = globalThis[binding];
  delete globalThis[binding];
  const ends = performance.now() + endsInMs;
  const known = new Set(ids);
  const stringify = JSON.stringify, size = text => new TextEncoder().encode(text).length;
  const receptacle = {
    opts,
    remainingMs: () => Math.max(0, Math.round(ends - performance.now())),
    report: (id, data) => {
      if (!known.has(id)) throw new TypeError('__bh.report: no script of this capture is called ' + id);
      const text = stringify(data === undefined ? null : data);
      if (size(text) > limit) throw new RangeError('__bh.report: over ' + limit + ' bytes of JSON');
      send(stringify({id, data: text}));
    },
  };
  Object.defineProperty(globalThis, '__bh', {value: Object.freeze(receptacle), configurable: true});
})"""

RunOutcome = Literal["done", "threw", "timeout", "page-left", "not-run"]


@dataclass(slots=True)
class Run:
    """How one script ended, and its last report."""

    script_id: str
    outcome: RunOutcome = "not-run"
    elapsed_ms: int = 0
    error: str | None = None
    reported_at: datetime | None = None
    data: Any = None

    def to_line(self, load: int) -> bytes:
        """One line of `behaviors/reports.jsonl`."""
        facts: dict[str, Any] = {
            "id": self.script_id,
            "load": load,
            "outcome": self.outcome,
            "elapsedMs": self.elapsed_ms,
        }
        if self.error:
            facts["error"] = self.error
        if self.reported_at is not None:
            facts |= {"reportedAt": rfc3339(self.reported_at), "data": self.data}
        return json.dumps(facts, ensure_ascii=False).encode("utf-8") + b"\n"


async def run(tab: Tab, scripts: Sequence[PageScript], *, budget_ms: int) -> list[Run]:
    """Runs the scripts in order in the main frame. A script's failure is its own: the next one runs.

    Never raises for what a script does; CaptureFault comes only from who waits around this call.
    """
    runs = [Run(script.id) for script in scripts]
    by_id = {item.script_id: item for item in runs}
    binding = f"comity{secrets.token_hex(8)}"
    tab.bind(binding, lambda payload: _keep(by_id, payload))
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + budget_ms / 1000
    document = tab.state.document
    opts = {script.id: script.options or {} for script in scripts}
    try:
        # A page without scripts has no world yet, and a binding goes only into worlds that exist.
        await tab.main.call("Runtime.evaluate", {"expression": "0", "silent": True}, budget_s=INSTALL_BUDGET_S)
        await tab.main.call("Runtime.addBinding", {"name": binding}, budget_s=INSTALL_BUDGET_S)
        arguments = [binding, opts, budget_ms, list(by_id), MAX_REPORT_BYTES]
        call = f"{INSTALL}({', '.join(json.dumps(argument) for argument in arguments)})"
        await tab.main.call("Runtime.evaluate", {"expression": call, "silent": True}, budget_s=INSTALL_BUDGET_S)
    except CdpError as error:
        for item in runs:
            item.error = f"the page took no scripts: {error}"
        return runs
    for script, item in zip(scripts, runs, strict=True):
        left_s = ends_s - loop.time()
        if left_s <= 0 or tab.state.document != document:
            item.error = "the budget was used up" if left_s <= 0 else "the page had left"
            continue
        started_s = loop.time()
        await _run_one(tab, script, item, left_s, document)
        item.elapsed_ms = round((loop.time() - started_s) * 1000)
    return runs


async def _run_one(tab: Tab, script: PageScript, item: Run, left_s: float, document: int) -> None:
    try:
        answer = await tab.main.call(
            "Runtime.evaluate",
            {"expression": script.source, "awaitPromise": True, "userGesture": True, "silent": True},
            budget_s=left_s,
        )
    except CallTimeoutError:
        item.outcome = "timeout"
    except CdpError as error:
        item.outcome = "page-left" if tab.state.document != document else "threw"
        item.error = str(error)
    else:
        details: Params | None = answer.get("exceptionDetails")
        item.outcome = "threw" if details else "done"
        if details:
            told = details.get("exception", {}).get("description") or details.get("text", "")
            item.error = str(told).split("\n", 1)[0][:1000]


def _keep(by_id: dict[str, Run], payload: str) -> None:
    try:
        told = json.loads(payload)
        item, data = by_id[told["id"]], str(told["data"])
        if len(data.encode("utf-8")) <= MAX_REPORT_BYTES:
            item.data, item.reported_at = json.loads(data), datetime.now(UTC)
    except (ValueError, KeyError, TypeError):
        return  # not from our receptacle


def members(scripts: Sequence[tuple[str, PageScript]], loads: Sequence[Sequence[Run]]) -> tuple[Member, ...]:
    """What the archive keeps: the scripts as run, and one report line per behavior and page load."""
    kept = [Member(f"scripts/{phase}-{script.id}.js", script.source.encode("utf-8")) for phase, script in scripts]
    lines = [item.to_line(load) for load, runs in enumerate(loads, start=1) for item in runs]
    if lines:
        kept.append(Member("behaviors/reports.jsonl", b"".join(lines)))
    return tuple(kept)
