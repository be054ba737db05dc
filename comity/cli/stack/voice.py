"""What `comity up` says while it starts: progress on standard error, one JSON line on standard output when asked."""

import json
import sys

from comity.cli.stack.state import PartState, StackState
from comity.cli.stack.up import Observers

LOGIN_HINT = "Prefect's UI asks for the string that `comity env` shows as PREFECT_API_AUTH_STRING"


class UpVoice:
    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def observers(self) -> Observers:
        return Observers(part=self.part, ready=self.ready, ending=self.ending)

    def part(self, name: str, state: PartState) -> None:
        line = part_line(name, state)
        if line:
            self._say(line)

    def ready(self, state: StackState, after_s: float) -> None:
        if self._as_json:
            facts = {
                "ready": True,
                "pid": state.pid,
                "data": state.data,
                "seconds": round(after_s, 1),
            } | state.addresses
            print(json.dumps(facts), flush=True)
            return
        self._say(f"ready after {after_s:.1f} s, everything in {state.data}")
        self._say(f"  ledger   {state.addresses['ledger']}")
        self._say(f"  Prefect  {state.addresses['prefectUi']}")
        self._say(f"  {LOGIN_HINT}")
        self._say("  Ctrl-C ends it")

    def ending(self, why: str) -> None:
        self._say(f"{why}: ending all parts")

    @staticmethod
    def _say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def part_line(name: str, state: PartState) -> str:
    """One line for a change worth telling; empty for the others."""
    if state.phase == "ready":
        return f"  {name} ready ({state.ready_after_s} s)"
    if state.phase == "waiting":
        return f"  {name} {state.detail}; starting it again"
    if state.phase == "failed":
        return f"  {name} failed: {state.detail}"
    return ""
