"""`python -m tests.site.demo`, which is what `make crawl` does: the fixture web, captured by the real command.

Serves six small sites on loopback, crawls them with a stack of its own, shows what came of it, and lets the sites'
own request log say whether the crawl was polite. Exit 0 only where everything held.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from comity.cli.console import output
from comity.cli.crawl_extractors import export_hint, told
from comity.cli.stack.voice import LOGIN_HINT
from comity.cli.summary import Summary, render_summary, replay_hint, summarize
from comity.contract.audit import HostAudit
from comity.contract.extraction import ExtractionView
from comity.contract.ledger import CrawlView, PageView
from tests.site.fixture import CRAWL_DELAY_S, ROBOTS_HOST
from tests.site.log import LogEntry, read_log
from tests.site.visits import gaps_s, overlapping, visits_of

ROOT = Path(__file__).resolve().parents[2]
HOSTS = 5
DELAY_MS = 1000
MAX_PAGES = 36
LEAST_PAGES, LEAST_HOSTS, LEVELS = 20, 4, 3
CLOCK_GRAIN_S = 0.001
"""Times are compared with what was promised to the millisecond."""
SITE_BUDGET_S = 15.0
EXTRACTOR = Path(__file__).with_name("page-facts.kdl")
"""What is taken out of each captured page, without another visit."""


@dataclass(frozen=True)
class HostVerdict:
    """What one host saw. `smallest_gap_s` from the end of a visit to the next page request; None below two visits."""

    host: str
    visits: int
    requests: int
    smallest_gap_s: float | None
    promised_s: float
    at_once: int

    @property
    def polite(self) -> bool:
        rested = self.smallest_gap_s is None or self.smallest_gap_s >= self.promised_s - CLOCK_GRAIN_S
        return rested and self.at_once == 0


@dataclass(frozen=True)
class Verdict:
    hosts: tuple[HostVerdict, ...]
    forbidden_visits: int

    @property
    def polite(self) -> bool:
        return self.forbidden_visits == 0 and all(host.polite for host in self.hosts)


def judge(log: Sequence[LogEntry], promised_s: Mapping[str, float], forbidden: str) -> Verdict:
    """The sites' own word on a crawl: what each host was promised, and what came."""
    visits = visits_of(log)
    pairs = overlapping(visits)
    hosts = [
        HostVerdict(
            host=host,
            visits=sum(1 for visit in visits if visit.host == host),
            requests=sum(1 for entry in log if entry.host == host),
            smallest_gap_s=min(gaps_s(visits, host), default=None),
            promised_s=promise_s,
            at_once=sum(1 for earlier, _ in pairs if earlier.host == host),
        )
        for host, promise_s in promised_s.items()
    ]
    return Verdict(tuple(hosts), sum(1 for entry in log if entry.url == forbidden))


def verdict_table(verdict: Verdict) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("host", "visits", "requests", "smallest gap", "promised", "two at once", ""):
        table.add_column(title, justify="left" if title in ("host", "") else "right")
    for host in verdict.hosts:
        gap = "-" if host.smallest_gap_s is None else f"{host.smallest_gap_s:.2f} s"
        said = Text("polite", "green") if host.polite else Text("impolite", "bold red")
        numbers = (str(host.visits), str(host.requests), gap, f"{host.promised_s:.2f} s", str(host.at_once))
        table.add_row(host.host, *numbers, said)
    return table


def shortfalls(summary: Summary, verdict: Verdict) -> list[str]:
    """What the demonstration was to show and did not."""
    found = []
    captured = [page for page in summary.pages if page.state == "captured"]
    if summary.crawl.state != "succeeded":
        found.append(f"the crawl ended {summary.crawl.state}: {summary.crawl.error or 'no reason given'}")
    if len(captured) < LEAST_PAGES:
        found.append(f"{len(captured)} pages captured, {LEAST_PAGES} wanted")
    if len({page.host for page in captured}) < LEAST_HOSTS:
        found.append(f"pages of {len({page.host for page in captured})} hosts captured, {LEAST_HOSTS} wanted")
    if len({page.depth for page in captured}) < LEVELS:
        found.append(f"{len({page.depth for page in captured})} levels captured, {LEVELS} wanted")
    if len(summary.archives) < len(captured):
        found.append(f"{len(summary.archives)} archives for {len(captured)} captured pages")
    if verdict.forbidden_visits:
        found.append(f"the page that robots.txt forbids was visited {verdict.forbidden_visits} times")
    found += [f"{host.host} was not treated politely" for host in verdict.hosts if not host.polite]
    extraction = summary.crawl.extraction
    if extraction is None or (extraction.extracted, extraction.pending) != (len(captured), 0):
        found.append(f"facts were to be extracted from {len(captured)} pages: {extraction and told(extraction)}")
    return found


def example_row(results: Sequence[ExtractionView]) -> str:
    """What one page gave, as a person would tell it."""
    for one in results:
        if one.value is not None:
            links = [link["href"] for link in one.value["links"]]
            return f"{one.url}: {one.value['title']!r} with {len(links)} links, {', '.join(links[:2])}, ..."
    return "nothing"


class Site:
    """The fixture web as a process of its own; ends with the block."""

    def __init__(self, log: Path) -> None:
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.site", "--hosts", str(HOSTS), "--log", str(log), "--with-parent"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def __enter__(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the fixture web did not start")
        facts: dict[str, Any] = json.loads(line)
        return facts

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # the site ends with its standard input
        try:
            self._process.wait(SITE_BUDGET_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()


def crawl(seeds: Sequence[str], hosts: Sequence[str], data: Path) -> tuple[int, str]:
    """Runs `comity crawl`, which may visit these hosts of this machine and no other; its exit status and its JSON.

    Ctrl-C and SIGTERM reach it, and it ends in order.
    """
    command = [
        sys.executable, "-m", "comity.cli.main", "crawl", *seeds, "--data", str(data), "--json",
        "--max-depth", str(LEVELS - 1), "--max-pages", str(MAX_PAGES), "--delay-ms", str(DELAY_MS),
        "--allow-private", ",".join(hosts), "--extractor", str(EXTRACTOR),
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        while True:
            try:
                answer, _ = process.communicate()
            except KeyboardInterrupt:  # the terminal has sent it to the command too, which cancels and stops
                continue
            return process.returncode, answer


def main() -> int:
    console = output()
    data = Path(os.environ.get("COMITY_DATA") or ROOT / "data" / "demo").resolve()
    data.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = data.with_name(f"{data.name}.site.log")  # beside it: in the stack's folder are the stack's files alone
    with Site(log) as site:
        print(
            f"the fixture web serves {len(site['hosts'])} hosts: {' '.join(site['seeds'])}", file=sys.stderr, flush=True
        )
        status, answer = crawl(site["seeds"], site["hosts"], data)
    if not answer.strip():
        return status or 1
    facts = json.loads(answer)
    crawl_view = CrawlView.model_validate(facts["crawl"])
    pages = [PageView.model_validate(page) for page in facts["pages"]]
    summary = summarize(crawl_view, pages, [HostAudit.model_validate(host) for host in facts["politeness"]])
    hints = [f"at these addresses again with: comity up --data {data}; {LOGIN_HINT}"]
    hint = "\n".join([*hints, *replay_hint(summary, data, stack_stays=False)])
    console.print()
    console.print(render_summary(summary, facts["addresses"], hint=hint))
    results = [ExtractionView.model_validate(one) for one in facts.get("extractions", [])]
    if crawl_view.extraction is not None:
        console.print()
        console.print(Text("Typed data out of the captured pages, without another visit", "bold"))
        console.print(Text(f"{EXTRACTOR.relative_to(ROOT)}: {told(crawl_view.extraction)}"))
        console.print(Text(f"for example {example_row(results)}"), soft_wrap=True)
        console.print(Text(export_hint(crawl_view.id, data, stack_stays=False)), soft_wrap=True)

    promised_s = dict.fromkeys(site["hosts"], DELAY_MS / 1000)
    promised_s[site["hosts"][ROBOTS_HOST]] = CRAWL_DELAY_S
    verdict = judge(read_log(log), promised_s, site["forbidden"])
    console.print()
    console.print(Text("Politeness, from the sites' own request log", "bold"))
    console.print(verdict_table(verdict))
    console.print(f"the page that robots.txt forbids ({site['forbidden']}): {verdict.forbidden_visits} visits")
    found = shortfalls(summary, verdict)
    for line in found:
        console.print(Text(f"not as promised: {line}", "bold red"))
    if not found:
        console.print(Text("polite to every host, and all pages kept", "bold green"))
    return status or (1 if found else 0)


if __name__ == "__main__":
    sys.exit(main())
