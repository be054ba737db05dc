"""`comity watch migrate rehearse`: a worker that claims pages and only sleeps, to size the workers before a move."""

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.errors import CliError
from comity.cli.options import DataOption, JsonOption
from comity.cli.watching.access import keeper
from comity.cli.watching.working import (
    CaFileOption,
    ConcurrencyOption,
    LedgerUrlOption,
    TokenFileOption,
    client_of,
    planned,
    work,
)

if TYPE_CHECKING:
    from comity.watch.rules.sizing import Rehearsed, Sizing
    from flows.watch_run import WatchRun


def migrate_rehearse(  # noqa: PLR0917 - typer reads options from parameters
    minutes: Annotated[float, typer.Option(min=0.01, max=1440, help="For so long, or until Ctrl-C.")] = 5,
    page_ms: Annotated[int, typer.Option(min=1, max=600_000, help="How long a page takes.")] = 1000,
    concurrency: ConcurrencyOption = None,
    visits_per_day: Annotated[
        int | None,
        typer.Option(min=1, help="What a day has; else what the ledger of the stack plans.", show_default=False),
    ] = None,
    ledger_url: LedgerUrlOption = None,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Claim pages that the other system visits still, as they come due, and only sleep: no site is asked.

    Says at the end how many pages a minute this worker does, and how many workers like it a day needs.
    """
    from comity.watch.rules.sizing import Rehearsed, sizing

    client = client_of(ledger_url, token_file, ca_file, data)
    if visits_per_day is None and ledger_url is None:
        with keeper(data) as ledger:
            visits_per_day = ledger.moving().visits_per_day
    plan = planned(concurrency, dry_run=True, rehearsal_ms=page_ms)
    limit = _Limit(minutes * 60)
    with limit:
        tally = work(client, plan, goes_on=limit.goes_on, token_file=token_file).tally
    seen = Rehearsed(tally.outcomes["rehearsed"], limit.elapsed_s, tally.busy_s, plan.worker.concurrency)
    try:
        found = sizing(seen, visits_per_day)
    except ValueError:
        raise CliError(
            "no page was due: a rehearsal takes pages of version 1; `comity watch migrate status` shows what waits"
        ) from None
    print(report_as_json(seen, found, visits_per_day) if as_json else report(seen, found, visits_per_day))


class _Limit:
    """Ends the rehearsal when its time is over, and shows meanwhile how far it is."""

    def __init__(self, limit_s: float) -> None:
        from rich.progress import Progress

        from comity.cli.console import progress_output

        console = progress_output()
        self._limit_s = limit_s
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("rehearsing", total=limit_s)
        self._began_s = time.monotonic()
        self.elapsed_s = 0.0

    def __enter__(self) -> None:
        self._bar.start()
        self._began_s = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self.elapsed_s = time.monotonic() - self._began_s

    def goes_on(self, run: "WatchRun") -> bool:
        passed_s = time.monotonic() - self._began_s
        pages = run.tally.outcomes["rehearsed"]
        self._bar.update(self._task, completed=passed_s, description=f"rehearsing, {pages} pages")
        return passed_s < self._limit_s


def report(seen: "Rehearsed", found: "Sizing", visits_per_day: float | None) -> str:
    """For people: what was done, what can be done, what is needed."""
    told = (
        f"{seen.pages} pages in {seen.elapsed_s / 60:.1f} min: {found.pages_a_minute:.0f} a minute, with "
        f"{found.taken_share:.0%} of {seen.places} places taken\n"
        f"one worker can do {found.full_pages_a_minute:.0f} pages a minute with all of them taken"
    )
    if found.workers is None:
        return f"{told}\nhow many visits a day has is not known here: give --visits-per-day"
    workers = "1 worker is" if found.workers == 1 else f"{found.workers} workers are"
    return f"{told}\n{workers} needed for {visits_per_day:.0f} visits a day"


def report_as_json(seen: "Rehearsed", found: "Sizing", visits_per_day: float | None) -> str:
    """For programs."""
    return json.dumps(
        {
            "pages": seen.pages,
            "elapsedMs": round(seen.elapsed_s * 1000),
            "places": seen.places,
            "pagesPerMinute": round(found.pages_a_minute, 1),
            "takenShare": round(found.taken_share, 3),
            "fullPagesPerMinute": round(found.full_pages_a_minute, 1),
            "visitsPerDay": visits_per_day,
            "workers": found.workers,
        }
    )
