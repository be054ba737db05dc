"""`comity status`: the stack's parts and the crawls under way."""

import json
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from blocks.clients.errors import ServiceError
from comity.cli.attempts import now_tried_again
from comity.cli.console import output
from comity.cli.data_folder import DataFolder
from comity.cli.errors import CliError
from comity.cli.ledger_access import operator_client
from comity.cli.stack.remote import require_stack
from comity.cli.stack.state import StackState
from comity.contract.ledger import CrawlView

PHASE_STYLES = {"ready": "green", "starting": "yellow", "waiting": "yellow", "failed": "red", "stopped": "dim"}
MOST_CRAWLS = 10


def show_status(data: DataFolder, *, as_json: bool) -> int:
    """The exit status: 0 where every part is ready. Raises NoStack."""
    state = require_stack(data)
    crawls, problem = _crawls(data, state)
    if as_json:
        facts = asdict(state) | {"crawls": [crawl.to_wire() for crawl in crawls], "ledgerProblem": problem}
        print(json.dumps(facts, indent=2))
    else:
        console = output()
        console.print(f"stack in {state.data}, pid {state.pid}, since {state.started_at}")
        console.print(parts_table(state))
        console.print(crawls_table(crawls) if crawls else Text(problem or "no crawl yet", "dim"))
    return 0 if state.ready else 1


def _crawls(data: DataFolder, state: StackState) -> tuple[list[CrawlView], str]:
    try:
        with operator_client(data, state) as ledger:
            return ledger.crawls().crawls[:MOST_CRAWLS], ""
    except (ServiceError, CliError) as error:
        return [], str(error)


def parts_table(state: StackState) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("part", "is", "pid", "restarts", ""):
        table.add_column(title)
    for name, part in state.parts.items():
        phase = Text(part.phase, PHASE_STYLES.get(part.phase, ""))
        table.add_row(name, phase, str(part.pid or "-"), str(part.restarts), Text(_where(state, name) or part.detail))
    return table


def _where(state: StackState, name: str) -> str:
    captures = state.addresses.get("captures", [])
    urls = {f"capture-{number}": url for number, url in enumerate(captures, start=1)}
    urls |= {"ledger": state.addresses["ledger"], "compiler": state.addresses["compiler"]}
    urls["prefect"] = state.addresses["prefectUi"]
    return str(urls.get(name, ""))


def crawls_table(crawls: list[CrawlView]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("crawl", "state", "started", "captured", "failed", "skipped", "pending", ""):
        table.add_column(title)
    for crawl in crawls:
        counts = crawl.counts
        numbers = (counts.captured, counts.failed, counts.skipped, counts.pending)
        started = f"{crawl.started_at:%Y-%m-%d %H:%M}"
        table.add_row(
            crawl.id,
            crawl.state,
            started,
            *map(str, numbers),
            Text(now_tried_again(crawl) or crawl.error or crawl.stop_reason or ""),
        )
    return table
