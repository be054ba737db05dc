"""What a browser says that does not start. Its log is thrown away otherwise: pages can fill it without end."""

import asyncio
import contextlib
import os
import re
import signal
import tempfile

from comity.capture.processes import END_BUDGET_S

WORDS_BUDGET_S = 5.0
MAX_CHARACTERS = 300
_PREFIX = re.compile(r"^\[[^\]]*\]\s*")
SANDBOX_HINT = (
    "the kernel does not let this user make a sandbox: allow user namespaces (user.max_user_namespaces above 0;"
    " kernel.apparmor_restrict_unprivileged_userns=0 or a profile for the browser), or install chromium-sandbox"
)
_COMPLAINTS = ("FATAL", "ERROR", "error", "cannot", "No ")


async def last_words(executable: str) -> str:
    """One line with the next step, from starting the browser once more by hand; empty where it says nothing."""
    with tempfile.TemporaryDirectory(prefix="comity-browser-", ignore_cleanup_errors=True) as profile:
        flags = ["--headless", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom", "about:blank"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        try:
            process = await asyncio.create_subprocess_exec(
                executable,
                *flags,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": profile, "TMPDIR": profile},
                start_new_session=True,
            )
        except OSError as error:
            return f"{executable} cannot be run: {error.strerror}; set COMITY_BROWSER to a Chromium that can"
        said = b""
        try:
            async with asyncio.timeout(WORDS_BUDGET_S):
                assert process.stderr is not None
                said = await process.stderr.read(64 * 1024)
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_BUDGET_S):
                    await process.wait()
    return told(executable, said.decode(errors="replace"))


def told(executable: str, said: str) -> str:
    """The line that names the cause, else the first one; with the next step."""
    if "No usable sandbox" in said:
        return f"{executable} finds no usable sandbox; {SANDBOX_HINT}"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    line = next((line for line in lines if any(word in line for word in _COMPLAINTS)), lines[0] if lines else "")
    if not line:
        return ""
    return f"{executable} says: {_PREFIX.sub('', line)[:MAX_CHARACTERS]}; COMITY_BROWSER names another"
