"""`comity extract run` for many pages: politely, results in the order of the file, a bar meanwhile."""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from comity.cli.console import progress_output
from comity.cli.errors import BadInput
from comity.cli.extraction.inputs import Job
from comity.cli.extraction.one import told
from comity.cli.extraction.politeness import Manners, Outcome, PoliteRun
from comity.cli.extraction.writing import Writer, writer_of
from comity.extract import ExtractOptions, Failure, Program
from comity.polite.rules.robots import authority_of


def run_many(
    program: Program,
    jobs: Sequence[Job],
    options: ExtractOptions,
    manners: Manners,
    *,
    kind: str,
    rows: str | None,
) -> int:
    """The exit status: 0, or 1 where a page gave no result. Raises BadInput for a session and pages of many hosts."""
    hosts = {authority_of(job.url) for job in jobs}
    if options.session is not None and len(hosts) > 1:
        raise BadInput(f"--session goes to one host, and these pages are of {len(hosts)} hosts; give a file for each")
    console = progress_output()
    console.print(Text(_announcement(len(jobs), len(hosts), options, manners)), soft_wrap=True)
    writer = writer_of(kind, sys.stdout, program.extractor, rows)
    with _bar(console, len(jobs)) as bar:
        ordered = _InOrder(jobs, writer, bar)
        try:
            asyncio.run(PoliteRun(program, options, manners, ordered.take).over(jobs))
        except ExceptionGroup as group:  # a pipe that was closed, say: what one host's task met is what is told
            raise group.exceptions[0] from None
        finally:
            ordered.end()
    console.print(Text(ordered.summary()), soft_wrap=True)
    return int(ordered.failed > 0)


class _InOrder:
    """Keeps outcomes until those before them are written."""

    def __init__(self, jobs: Sequence[Job], writer: Writer, bar: Progress) -> None:
        self._numbers = iter([job.number for job in jobs])
        self._next = next(self._numbers)
        self._total = len(jobs)
        self._waiting: dict[int, Outcome] = {}
        self._writer = writer
        self._bar = bar
        self._codes: Counter[str] = Counter()
        self._done = 0
        self._partial = 0
        self.failed = 0

    def take(self, outcome: Outcome) -> None:
        self._count(outcome)
        self._waiting[outcome.job.number] = outcome
        while (ready := self._waiting.pop(self._next, None)) is not None:
            self._writer.write(ready)
            self._next = next(self._numbers, 0)

    def end(self) -> None:
        """Writes what waits for pages that will not come any more, too."""
        for number in sorted(self._waiting):
            self._writer.write(self._waiting[number])
        self._writer.end()

    def summary(self) -> str:
        codes = ", ".join(f"{code} {count}" for code, count in self._codes.most_common())
        return (
            f"{self._done - self.failed} of {self._total} pages read"
            + (f", {self._partial} of them in part" if self._partial else "")
            + (f"; {self.failed} failed: {codes}" if self.failed else "")
        )

    def _count(self, outcome: Outcome) -> None:
        found = outcome.found
        self._done += 1
        if isinstance(found, Failure):
            self.failed += 1
            self._codes[found.code] += 1
        else:
            self._partial += found.partial
        for line in told(found, before=f"page {outcome.job.number} {outcome.job.url}: "):
            self._bar.console.print(Text(line), soft_wrap=True)
        for task in self._bar.task_ids:
            self._bar.update(task, advance=1, failed=self.failed)


def _announcement(pages: int, hosts: int, options: ExtractOptions, manners: Manners) -> str:
    robots = "robots.txt is kept" if manners.respects_robots else "robots.txt is not asked"
    where = "; addresses that are not public are visited too" if options.allow_private_hosts else ""
    return (
        f"{pages} pages of {hosts} host{'s' if hosts > 1 else ''}, {min(hosts, manners.hosts_at_once)} at once, one "
        f"page at a time of each with {manners.delay_ms} ms in between; {robots}{where}"
    )


def _bar(console: Console, pages: int) -> Progress:
    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal or sys.stdout.isatty(),  # on one terminal the results show how far it is
        transient=True,
    )
    bar.add_task("pages", total=pages, failed=0)
    return bar
