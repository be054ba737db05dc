"""The native compiler: finding it, and running one check of it within limits."""

import asyncio
import contextlib
import os
import platform
import re
import resource
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from comity.tscompile.errors import CompilerBroken, CompilerMissing

WANTED_MAJOR = 7
MAX_PRINTED_BYTES: Final = 4 * 1024 * 1024
"""Diagnostics past this are not read; the check has failed long before."""

_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_PLATFORMS = {"linux": "linux", "darwin": "darwin"}
_FIX = "Run `make setup` in the checkout, or set TSCOMPILE_TSC to the `tsc` of TypeScript 7's native package."


@dataclass(frozen=True, slots=True)
class Limits:
    """What one check may use."""

    timeout_ms: int
    memory_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Finished:
    """How a check's process ended. `cut_by` names the limit that ended it, if one did."""

    exit_code: int
    printed: str
    cut_by: Literal["time", "memory", "output"] | None = None


def find_tsc(configured: Path | None) -> Path:
    """The compiler's executable. Raises CompilerMissing, whose message says how to mend it."""
    if configured is not None:
        if not (configured.is_file() and os.access(configured, os.X_OK)):
            raise CompilerMissing(f"TSCOMPILE_TSC={configured} is not an executable file. {_FIX}")
        return configured.resolve()
    package = native_package()
    for folder in Path(__file__).resolve().parents:
        candidate = folder / "node_modules" / package / "lib" / "tsc"
        if candidate.is_file():
            return candidate
    on_path = shutil.which("tsc")
    if on_path is None:
        raise CompilerMissing(
            f"No TypeScript compiler: neither node_modules/{package}/lib/tsc nor `tsc` on PATH. {_FIX}"
        )
    return Path(on_path).resolve()


def native_package() -> str:
    """The npm package that holds the compiler for this machine."""
    system = _PLATFORMS.get(sys.platform, sys.platform)
    machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
    return f"@typescript/typescript-{system}-{machine}"


async def version_of(tsc: Path) -> str:
    """The compiler's version, for example `7.0.2`. Raises CompilerMissing where it is none that we can use."""
    try:
        process = await asyncio.create_subprocess_exec(
            str(tsc), "--version", stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=_environment(None)
        )
        try:
            printed, _ = await asyncio.wait_for(process.communicate(), timeout=10)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise CompilerMissing(f"{tsc} --version did not answer within 10 s. {_FIX}") from None
    except OSError as error:
        raise CompilerMissing(f"{tsc} does not start: {error.strerror}. {_FIX}") from error
    match = re.search(r"Version (\d+)(\.\S+)?", printed.decode("utf-8", "replace"))
    if match is None or process.returncode != 0:
        raise CompilerMissing(f"{tsc} --version does not answer like a TypeScript compiler. {_FIX}")
    if int(match[1]) != WANTED_MAJOR:
        raise CompilerMissing(f"{tsc} is TypeScript {match[0][8:]}; version {WANTED_MAJOR} is needed. {_FIX}")
    return match[0].removeprefix("Version ")


def _environment(limits: Limits | None) -> dict[str, str]:
    """Nothing of ours but what a program needs to start: no token of this service reaches the compiler."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
    if limits is not None:
        # The collector works harder before the hard limit ends the process.
        environment["GOMEMLIMIT"] = str(limits.memory_bytes * 3 // 4)
    return environment


async def run_check(tsc: Path, folder: Path, limits: Limits, watch_output: Callable[[], int]) -> Finished:
    """Runs the compiler on `folder/../tsconfig.json` from inside `folder` and waits for its end, at most `timeout_ms`.

    Its whole process group is dead when this returns or raises, also on cancellation. `watch_output` tells how many
    bytes it has written. Raises CompilerBroken where it does not start.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *(str(tsc), "--project", "../tsconfig.json", "--singleThreaded", "--pretty", "false"),
            cwd=folder,
            env=_environment(limits),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise CompilerBroken(f"the TypeScript compiler does not start: {error.strerror}. {_FIX}") from error
    try:
        _limit(process.pid, limits)
        async with asyncio.timeout(limits.timeout_ms / 1000):
            printed, whole = await _read(process)
            if not whole:
                return Finished(-signal.SIGKILL, printed, "output")
            code = await process.wait()
    except TimeoutError:
        return Finished(-signal.SIGKILL, "", "time")
    finally:
        await _end(process)
    return Finished(code, printed, _limit_hit(code, printed, watch_output() > limits.output_bytes))


def _limit(pid: int, limits: Limits) -> None:
    """Hard limits by the kernel, so that a check outlives neither its budget nor this service if that is killed."""
    if not hasattr(resource, "prlimit"):  # only Linux has it; elsewhere the time limit alone holds
        return
    seconds = limits.timeout_ms // 1000 + 2
    with contextlib.suppress(ProcessLookupError, PermissionError):
        # Not RLIMIT_AS: the compiler's runtime reserves 1.3 GB of addresses for the 40 MB that it uses.
        resource.prlimit(pid, resource.RLIMIT_DATA, (limits.memory_bytes, limits.memory_bytes))
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limits.output_bytes, limits.output_bytes))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


async def _read(process: Process) -> tuple[str, bool]:
    """What the process prints until it closes its output, and whether that was all of it."""
    assert process.stdout is not None
    printed = bytearray()
    while chunk := await process.stdout.read(65_536):
        printed += chunk
        if len(printed) > MAX_PRINTED_BYTES:
            return bytes(printed[:MAX_PRINTED_BYTES]).decode("utf-8", "replace"), False
    return printed.decode("utf-8", "replace"), True


def _limit_hit(code: int, printed: str, too_much: bool) -> Literal["time", "memory", "output"] | None:
    if code == -signal.SIGXCPU:
        return "time"
    if code == -signal.SIGXFSZ or too_much or "file too large" in printed:
        return "output"
    if code != 0 and re.search(r"^(?:fatal error|runtime): .*(?:memory|mmap)", printed, re.MULTILINE):
        return "memory"
    return None


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
