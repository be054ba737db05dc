"""A worker of ours: `rounds` visits to every page after the first, its CPU time told as JSON.

python -m bench.watching.comity_worker PORT CONCURRENCY ROUNDS [--profile FILE]
"""

import argparse
import asyncio
import cProfile
import json
import resource
import sys
import urllib.request
from collections import Counter

import uvloop

from bench.watching.server import HOSTS, address, urls
from comity.contract.watch import WatchSettings, WholePage
from comity.contract.watch_queue import Rehearsed
from comity.polite.rules.addresses import egress_rules
from comity.watch.building import Plan, built
from comity.watch.visit_settings import VisitSettings
from comity.watch.worker import WorkerSettings
from tests.fakes.watch_queue import FakeQueue


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def begin_round(port: int, number: int) -> None:
    urllib.request.urlopen(f"http://127.0.0.1:{port}/round/{number}").read()


async def main(options: argparse.Namespace) -> None:
    queue = FakeQueue()
    settings = WatchSettings(watched=WholePage())
    pages = [queue.add(url, settings) for url in urls(options.port)]
    plan = Plan(
        name="bench",
        egress=egress_rules(",".join(f"{address(host)}:{options.port}" for host in range(HOSTS))),
        worker=WorkerSettings(concurrency=options.concurrency, report_every_ms=500),
        visits=VisitSettings(learn_after_ms=0),
    )
    stop = asyncio.Event()
    async with built(plan, queue) as worker:
        running = asyncio.create_task(worker.run(stop))
        await queue.until_idle(600)
        profile = cProfile.Profile() if options.profile else None
        began_s = cpu_s()
        if profile:
            profile.enable()
        for number in range(1, options.rounds + 1):
            begin_round(options.port, number)
            queue.due_again(*pages)
            await queue.until_idle(600)
        used_s = cpu_s() - began_s
        if profile:
            profile.disable()
            profile.dump_stats(options.profile)
        stop.set()
        await running
    outcomes = Counter(outcome for page in pages for outcome in page.outcomes[1:])
    reports = [report for page in pages for report in page.reports[1:] if not isinstance(report, Rehearsed)]
    visits = sum(len(report.visits) for report in reports)
    memory_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = {"pages": len(pages) * options.rounds, "cpu_s": used_s, "outcomes": outcomes, "requests": visits}
    print(json.dumps(told | {"memory_mb": memory_kb / 1024}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("rounds", type=int)
    parser.add_argument("--profile")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(parser.parse_args()))
    sys.exit(0)
