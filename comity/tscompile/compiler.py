"""From sources to JavaScript: cache, a free place, the check, and its verdict."""

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from comity.contract.compiler import Diagnostic
from comity.tscompile import guard
from comity.tscompile.cache import ResultCache, cache_key
from comity.tscompile.diagnostics import explained, in_order, parse
from comity.tscompile.errors import Busy, CheckFailed, CompilerBroken
from comity.tscompile.native import Finished, Limits, find_tsc, run_check, version_of
from comity.tscompile.program import (
    SOURCES,
    Source,
    emitted_bytes,
    host_types,
    host_types_tag,
    read_emitted,
    write_program,
)
from comity.tscompile.settings import Settings

MAX_DIAGNOSTICS = 1_000
"""One mistake at the top can cause thousands below; the message tells how many there were."""

_PASSED, _FOUND = 0, (1, 2)
"""Exit codes of `tsc`: nothing found; findings, with and without output."""


@dataclass(frozen=True, slots=True)
class Result:
    """JavaScript of each script, in order, and whether it was known already."""

    javascript: tuple[str, ...]
    cached: bool


@contextmanager
def _scratch() -> Iterator[Path]:
    """An empty folder for one run of the compiler, by its real path, and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tscompile-") as name:
        yield Path(name).resolve()


class Compiler:
    """Checks lists of scripts, at most `max_concurrent_checks` at once. Made by `Compiler.start`."""

    def __init__(self, settings: Settings, tsc: Path, typescript: str) -> None:
        self.typescript = typescript
        self._declarations = host_types()
        self.host_types = host_types_tag(self._declarations)
        self._tsc = tsc
        self._limits = Limits(settings.check_timeout_ms, settings.max_memory_bytes, settings.max_output_bytes)
        self._max_wait_ms = settings.max_wait_ms
        self._places = asyncio.Semaphore(settings.max_concurrent_checks)
        self._cache = ResultCache(settings.max_cached_results, settings.cache)

    @classmethod
    async def start(cls, settings: Settings) -> "Compiler":
        """Finds the compiler, asks its version and checks an empty program with it.

        Raises CompilerMissing, or CompilerBroken where it answers but cannot work (its library is gone).
        """
        tsc = find_tsc(settings.tsc)
        compiler = cls(settings, tsc, await version_of(tsc))
        try:
            await compiler._check([], secrets.token_hex(8))
        except CheckFailed as failed:  # an empty program breaks no rule, so a limit is set too low for this machine
            raise CompilerBroken(f"the TypeScript compiler cannot check an empty program: {failed.message}") from failed
        return compiler

    async def compile(self, sources: Sequence[Source]) -> Result:
        """The JavaScript of all, or CheckFailed with every finding; Busy; CompilerBroken."""
        if not sources:
            return Result((), cached=False)
        key = cache_key(self.typescript, self._declarations, sources)
        known = self._cache.get(key)
        if known is None:
            async with self._place():
                known = self._cache.get(key)  # a twin may have finished while this one waited
                if known is None:
                    javascript = await self._check(sources, secrets.token_hex(8))
                    self._cache.put(key, javascript)
                    return Result(tuple(javascript), cached=False)
        return Result(known, cached=True)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._max_wait_ms / 1000):
                await self._places.acquire()
        except TimeoutError:
            raise Busy(f"no free place for a check within {self._max_wait_ms} ms; try again later") from None
        try:
            yield
        finally:
            self._places.release()

    async def _check(self, sources: Sequence[Source], nonce: str) -> list[str]:
        found = guard.textual_findings(sources)
        with _scratch() as folder:
            finished = await self._run(folder, sources, emit=True)
            found += [explained(each) for each in self._findings(sources, finished, found)]
            if guard.needs_probe(sources):
                found += await self._probe(sources, nonce)
            if found:
                raise self._failed(sources, found)
            try:
                return await asyncio.to_thread(read_emitted, folder, sources)
            except OSError as error:
                raise CompilerBroken(f"the TypeScript compiler left no output ({error.strerror})") from error

    async def _probe(self, sources: Sequence[Source], nonce: str) -> list[Diagnostic]:
        with _scratch() as folder:
            finished = await self._run(folder, guard.probe(sources, nonce), emit=False)
        findings = self._findings(sources, finished, [])
        return [explained(each) for each in guard.probe_findings(sources, findings, nonce)]

    async def _run(self, folder: Path, sources: Sequence[Source], *, emit: bool) -> Finished:
        await asyncio.to_thread(write_program, folder, sources, self._declarations, emit=emit)
        finished = await run_check(self._tsc, folder / SOURCES, self._limits, lambda: emitted_bytes(folder))
        # Some messages quote a whole path. The folder's name is new each time and nobody's business.
        return replace(finished, printed=finished.printed.replace(f"{folder / SOURCES}/", ""))

    def _findings(self, sources: Sequence[Source], finished: Finished, known: list[Diagnostic]) -> list[Diagnostic]:
        """What the compiler says about the scripts. A limit raises CheckFailed, a fault of its own CompilerBroken."""
        diagnostics = parse(finished.printed)
        if finished.cut_by is not None:
            about_scripts = [each for each in diagnostics if each.file]
            raise self._failed(sources, [*known, *about_scripts, self._limit_finding(finished.cut_by)])
        if finished.exit_code == _PASSED and not diagnostics:
            return []
        if finished.exit_code not in _FOUND or not any(diagnostic.file for diagnostic in diagnostics):
            said = next((line for line in finished.printed.splitlines() if line.strip()), "nothing")[:300]
            raise CompilerBroken(
                f"the TypeScript compiler ended with {finished.exit_code} and said: {said}. "
                "Check its installation (`make setup`, TSCOMPILE_TSC) and this service's log."
            )
        return diagnostics

    def _limit_finding(self, cut_by: str) -> Diagnostic:
        limit, setting = {
            "time": (f"{self._limits.timeout_ms} ms", "TSCOMPILE_CHECK_TIMEOUT_MS"),
            "memory": (f"{self._limits.memory_bytes} bytes of memory", "TSCOMPILE_MAX_MEMORY_BYTES"),
            "output": (f"{self._limits.output_bytes} bytes of output", "TSCOMPILE_MAX_OUTPUT_BYTES"),
        }[cut_by]
        message = f"The check was ended at its limit of {limit} ({setting}). Simplify the types, or send fewer scripts."
        return Diagnostic(code=f"{cut_by}-limit", message=message)

    def _failed(self, sources: Sequence[Source], found: Sequence[Diagnostic]) -> CheckFailed:
        diagnostics = in_order(found, [source.file for source in sources])
        first = diagnostics[0]
        where = f"{first.file}({first.line},{first.col}): " if first.file else ""
        number = f"{len(diagnostics)} problem" + ("s" if len(diagnostics) > 1 else "")
        message = f"{number}; the first: {where}{first.code}: {first.message.splitlines()[0]}"
        return CheckFailed(message, self.typescript, diagnostics[:MAX_DIAGNOSTICS])
