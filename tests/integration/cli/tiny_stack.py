"""`python -m tests.integration.cli.tiny_stack DATA [--crash|--refuse]`: the real supervisor over two tiny parts.

`server` answers /healthz and keeps a grandchild that ignores SIGTERM in a session of its own; `helper`
restarts with it, and has a child that takes its time to end and notes what the helper did meanwhile. With --crash the
server ends as soon as it starts, with --refuse too, but with the status for bad settings.
"""

import sys
from pathlib import Path

from comity.cli.data_folder import DATA_VARIABLE, DataFolder
from comity.cli.errors import CliError
from comity.cli.stack import prefect_env
from comity.cli.stack.guard import MARKER
from comity.cli.stack.parts import FileReady, HttpReady, Part
from comity.cli.stack.ports import keep_ports
from comity.cli.stack.up import StackPlan, run_stack
from comity.cli.stack.voice import UpVoice

ROOT = Path(__file__).resolve().parents[3]

STUBBORN = "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(600)"

SERVER = f"""
import http.server, subprocess, sys
subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], start_new_session=True)
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{{}}")
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
"""

SLOW_CHILD = """
import pathlib, signal, sys, time
pulse, noted = map(pathlib.Path, sys.argv[1:])
def end(*_):
    time.sleep(0.2)
    before = pulse.stat().st_size
    time.sleep(0.5)
    noted.write_text("stood still" if pulse.stat().st_size == before else "went on")
    sys.exit()
signal.signal(signal.SIGTERM, end)
noted.write_text("begun")
time.sleep(600)
"""

HELPER = f"""
import pathlib, subprocess, sys, time
from comity.cli.stack.parts import FileReady
from comity.cli.stack.readiness import announce
ready = pathlib.Path(sys.argv[1])
pulse, noted = ready.with_name("pulse"), ready.with_name("noted")
subprocess.Popen([sys.executable, "-c", {SLOW_CHILD!r}, str(pulse), str(noted)])
while not noted.exists():
    time.sleep(0.02)
announce(FileReady(ready))
while True:
    with pulse.open("a") as grows:
        grows.write(".")
    time.sleep(0.02)
"""

CRASHER = "import sys; sys.exit('the server cannot read its settings')"
REFUSER = "import sys; print('SERVER_PORT: must be a number'); sys.exit(2)"


def plan(data: DataFolder) -> StackPlan:
    port = keep_ports(["server"], data.ports)["server"]
    env = prefect_env.inherited() | {DATA_VARIABLE: str(data.root), MARKER: str(data.root)}
    ready = FileReady(data.run / "helper.ready")
    program = CRASHER if "--crash" in sys.argv else REFUSER if "--refuse" in sys.argv else SERVER
    url = f"http://127.0.0.1:{port}"
    parts = [
        Part("server", (sys.executable, "-c", program, str(port)), env, HttpReady(f"{url}/healthz")),
        Part(
            "helper",
            (sys.executable, "-c", HELPER, str(ready.path)),
            env,
            ready,
            restarts_with="server",
            children_first=True,
        ),
    ]
    return StackPlan(parts, ROOT, {"ledger": url, "prefectUi": url})


if __name__ == "__main__":
    try:
        run_stack(DataFolder(Path(sys.argv[1]).resolve()), plan, UpVoice(as_json=True).observers())
    except CliError as error:
        sys.exit(f"comity: {error}")
