"""Starting the browser so that it never outlives us.

Three nets, because each alone has a hole: the browser's own end of the debugging pipe (a stopped browser does not read
it), `PR_SET_PDEATHSIG` (Linux only), and a process group of its own that we kill whole at the end.
"""

import asyncio
import contextlib
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from comity.capture.egress.ports import ProxyPorts

BROWSER_NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
"""In this order: the headless shell loads a page in a third of the full browser's time and half its memory."""

LIBRARIES = Path("/usr/lib/chromium")
"""Where Debian keeps Chromium's programs."""

FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-startup-window",
    "--hide-scrollbars",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    # Nothing calls home.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--no-pings",
    "--metrics-recording-only",
    "--dns-prefetch-disable",
    # A page in the background of nobody: its timers and renderers run at full speed.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--autoplay-policy=user-gesture-required",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-features=Translate,MediaRouter,OptimizationHints,OptimizationGuideModelDownloading,"
    "InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater,AutofillServerCommunication,"
    "DialMediaRouteProvider,NetworkTimeServiceQuerying,HttpsUpgrades,PaintHolding,BackForwardCache,Prerender2,"
    "AcceptCHFrame,LensOverlay",
)
LOOPBACK = "127.0.0.1"
SHELL_PROGRAM = 'exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null'
"""Moves our two pipes to the descriptors 3 and 4 where Chromium looks for them."""

END_BUDGET_S = 2.0


class NoBrowserError(Exception):
    """No browser was found, or the one named cannot be run. The message says what to do."""


def find_browser(named: str | None) -> str:
    """The browser's executable: `named` (COMITY_BROWSER), else the first known name on PATH."""
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoBrowserError(
                f"COMITY_BROWSER={named} is not an executable file; set it to a Chromium or headless shell"
            )
        return behind_wrapper(found)
    for name in BROWSER_NAMES:
        found = shutil.which(name)
        if found is not None:
            return behind_wrapper(found)
    raise NoBrowserError(
        "no browser found on PATH: install Debian's chromium-headless-shell, or set COMITY_BROWSER to a Chromium"
    )


def behind_wrapper(executable: str, libraries: Path = LIBRARIES) -> str:
    """The program itself, where `executable` is Debian's shell script around it.

    The script stays as the program's parent, and then the kernel's signal at our death, and our own look at the
    browser's life, would reach the script and not the browser.
    """
    program = libraries / Path(executable).name
    try:
        with Path(executable).open("rb") as file:
            is_script = file.read(2) == b"#!"
    except OSError:
        return executable
    return str(program) if is_script and os.access(program, os.X_OK) else executable


def way_out(proxy: ProxyPorts) -> list[str]:
    """Everything goes through the egress guard on these loopback ports, and nothing around it.

    What has no rule of its own takes the one called `socks`: that is WebSockets, and then no connection carries both
    them and requests. Without `<-loopback>` the browser would go to loopback addresses by itself; and it looks no name
    up, should some part of it not ask the proxy.
    """
    pages, sockets = (f"socks5://{LOOPBACK}:{port}" for port in (proxy.pages, proxy.sockets))
    return [
        f"--proxy-server=http={pages};https={pages};socks={sockets}",
        "--proxy-bypass-list=<-loopback>",
        f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {LOOPBACK}",
    ]


def command_line(executable: str, profile: Path, proxy: ProxyPorts) -> list[str]:
    """The whole command, wrapped so that the kernel ends the browser with us where it can."""
    flags = [*FLAGS, *way_out(proxy), f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium's sandbox refuses to run as root
    setpriv = shutil.which("setpriv")
    guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
    return ["/bin/sh", "-c", SHELL_PROGRAM, "sh", *guard, executable, *flags]


class _Told(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells of the process's end at once; `Process.wait` waits for the pipes too, which children may hold open."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=1 << 20, loop=loop)
        self.ended = asyncio.Event()

    def process_exited(self) -> None:
        self.ended.set()
        super().process_exited()


@dataclass(frozen=True, slots=True)
class Started:
    """A running browser. `ended` is set when its main process is gone, whatever its children do."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ended: asyncio.Event


async def start(executable: str, profile: Path, proxy: ProxyPorts) -> Started:
    """Starts the browser with our pipes as its debugging pipe. Raises OSError."""
    environment = {
        name: value
        for name, value in os.environ.items()
        # A proxy of the environment would change what the page gets; tokens of ours are no business of the browser.
        if not name.lower().endswith("_proxy")
        and not name.startswith(("CAPTURE_", "LEDGER_", "TSCOMPILE_", "PREFECT_", "COMITY_S3_", "AWS_"))
    }
    environment |= {"HOME": str(profile), "TMPDIR": str(profile), "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: _Told(loop),
        *command_line(executable, profile, proxy),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    process = asyncio.subprocess.Process(transport, protocol, loop)
    if process.stdin is None or process.stdout is None:
        raise OSError("the browser's pipes did not open")
    return Started(process, process.stdout, process.stdin, protocol.ended)


async def end(process: asyncio.subprocess.Process) -> None:
    """Kills the browser's whole process group and waits until it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_BUDGET_S):
            await process.wait()
