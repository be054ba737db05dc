"""All Prefect workers of a stack in one process: one import of Prefect (2 s, 110 MB) instead of several.

    python -m comity.cli.stack.workers --root FOLDER --ready-file FILE

Prepares the server first (`prepare.py`). Each pool keeps a worker of its own, so that waiting triggers never take a
level's place. Ends on SIGTERM, and takes its flow runs along: they are told to end and report it.
"""

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prefect.settings import PREFECT_WORKER_QUERY_SECONDS, temporary_settings
from prefect.workers.process import ProcessWorker

from comity.cli.blocks_init import BlockSettings, keep_blocks
from comity.cli.data_folder import DATA_VARIABLE
from comity.cli.errors import CliError
from comity.cli.stack import prepare
from comity.cli.stack.parts import FileReady
from comity.cli.stack.processes import live_flow_runs
from comity.cli.stack.readiness import announce
from flows.automations import keep_heartbeat_automation

ASKS_S = {"comity-levels": 0.2, "comity-extractions": 1.0, "comity-triggers": 1.0, "comity-watchers": 5.0}
"""How often each pool is asked for runs. A crawl stands still until its next level is found; the others can wait."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m comity.cli.stack.workers")
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--ready-file", type=Path, required=True)
    options = parser.parse_args()
    try:
        prepare_server(options.root, options.ready_file.with_name("deployed.json"))
    except CliError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    asyncio.run(run_workers(FileReady(options.ready_file)))
    return 0


def prepare_server(root: Path, deployed: Path) -> None:
    """Pools, Blocks, deployments, and the automation that ends silent runs.

    Runs that no process is at any more are closed before a worker starts new ones.
    """
    client = prepare.wait_for_api()
    closed = prepare.close_orphaned_runs(client, live_flow_runs(Path(os.environ[DATA_VARIABLE])))
    prepare.keep_pools(client, root)
    settings = BlockSettings.resolve({})
    prepare.wait_for_ledger(settings.ledger_url, settings.ledger_token_file)
    keep_blocks(settings)
    line = prepare.deploy(client, root, deployed)
    automation = keep_heartbeat_automation(client)
    print(f"{line}; heartbeat automation {automation}; {closed} orphaned runs closed", file=sys.stderr, flush=True)


async def run_worker(pool: str, every_s: float, printer: Callable[[object], None]) -> None:
    """The worker of one pool. How often it asks for runs is a setting of the process, so each has its own context."""
    with temporary_settings({PREFECT_WORKER_QUERY_SECONDS: every_s}):
        worker = ProcessWorker(work_pool_name=pool, name=f"{pool}-worker", create_pool_if_not_found=False)
        await worker.start(printer=printer)


async def run_workers(ready: FileReady) -> None:
    """Until SIGTERM or SIGINT."""
    started: set[str] = set()
    lock = threading.Lock()

    def said(pool: str, line: object) -> None:
        print(line, file=sys.stderr, flush=True)
        with lock:
            if str(line).endswith("started!"):
                started.add(pool)
                if started == set(prepare.POOLS):
                    announce(ready)

    workers = [asyncio.create_task(run_worker(pool, every_s, partial(said, pool))) for pool, every_s in ASKS_S.items()]
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: [worker.cancel() for worker in workers])
    # One that ends, for whatever reason, ends the process: the supervisor starts all again.
    await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
    for worker in workers:
        worker.cancel()
    outcomes = await asyncio.gather(*workers, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome


if __name__ == "__main__":
    sys.exit(main())
