"""What came of a crawl, for people and programs: contract models in, a frozen summary out, and its rendering. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import commonpath, dirname
from shlex import quote
from typing import Any
from urllib.parse import unquote, urlsplit

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from comity.cli.attempts import survived
from comity.cli.audit_view import audit_json, politeness_table
from comity.cli.console import counted
from comity.contract.audit import HostAudit
from comity.contract.ledger import CrawlView, PageState, PageView

STATES: tuple[PageState, ...] = ("captured", "failed", "skipped", "pending")
MOST_ARCHIVES = 20
SHORTEST_PAGE = 16
COLUMN_GAP = 2
STATE_STYLES = {"captured": "green", "failed": "red", "skipped": "yellow", "pending": "dim"}


@dataclass(frozen=True)
class Outcome:
    """Pages that ended the same way for the same reason; `example` is the first of them."""

    state: PageState
    reason: str
    pages: int
    example: str


@dataclass(frozen=True)
class Archive:
    """A replayable archive; `path` is a file's path, or the location as it is where it lies elsewhere."""

    url: str
    path: str


@dataclass(frozen=True)
class Summary:
    crawl: CrawlView
    pages: tuple[PageView, ...]
    outcomes: tuple[Outcome, ...]
    archives: tuple[Archive, ...]
    politeness: tuple[HostAudit, ...]

    @property
    def captured(self) -> int:
        return sum(1 for page in self.pages if page.state == "captured")

    @property
    def levels(self) -> int:
        return len({page.depth for page in self.pages})

    @property
    def hosts(self) -> int:
        return len({page.host for page in self.pages})


def summarize(crawl: CrawlView, pages: Sequence[PageView], audits: Sequence[HostAudit] = ()) -> Summary:
    return Summary(
        crawl=crawl,
        pages=tuple(pages),
        outcomes=_outcomes(pages),
        archives=tuple(
            Archive(page.url, path_of(page.artifacts["wacz"])) for page in pages if page.artifacts.get("wacz")
        ),
        politeness=tuple(audits),
    )


def _outcomes(pages: Sequence[PageView]) -> tuple[Outcome, ...]:
    counted: Counter[tuple[PageState, str]] = Counter()
    examples: dict[tuple[PageState, str], str] = {}
    for page in pages:
        key = (page.state, "" if page.state in ("captured", "pending") else page.reason or "no reason given")
        counted[key] += 1
        examples.setdefault(key, page.url)
    found = [Outcome(state, reason, count, examples[state, reason]) for (state, reason), count in counted.items()]
    return tuple(sorted(found, key=lambda one: (STATES.index(one.state), -one.pages, one.reason)))


def path_of(location: str) -> str:
    """The path of a `file://` location (RFC 8089); another location as it is."""
    parts = urlsplit(location)
    return unquote(parts.path) if parts.scheme == "file" else location


def as_json(summary: Summary, addresses: Mapping[str, Any]) -> dict[str, Any]:
    """Plain JSON data, names in camelCase as everywhere on the wire."""
    return {
        "crawl": summary.crawl.to_wire(),
        "pages": [page.to_wire() for page in summary.pages],
        "archives": [{"url": archive.url, "path": archive.path} for archive in summary.archives],
        "politeness": audit_json(summary.politeness),
        "addresses": dict(addresses),
    }


def replay_hint(summary: Summary, data: Path, *, stack_stays: bool) -> list[str]:
    """How to look at the archives: by the crawl while its ledger runs, else by where they lie."""
    if not summary.archives:
        return []
    folder = folder_of(summary.archives)
    if stack_stays:
        return [f"see the pages: comity replay {summary.crawl.id} --data {quote(str(data))}"]
    return [f"see the pages: comity replay {quote(folder)}"] if folder else []


def render_summary(
    summary: Summary, addresses: Mapping[str, Any], *, most_archives: int = MOST_ARCHIVES, hint: str = ""
) -> RenderableType:
    """The closing page of `comity crawl`."""
    parts: list[RenderableType] = [_headline(summary), Text(), _outcome_table(summary.outcomes)]
    if summary.archives:
        folder = folder_of(summary.archives)
        shown, more = summary.archives[:most_archives], len(summary.archives) - most_archives
        parts += [
            Text(),
            Text.assemble((counted(len(summary.archives), "archive"), "bold"), f" in {folder}" if folder else ""),
            _ArchiveTable(shown, folder),
        ]
        if more > 0:
            rest = "in that folder" if folder else f"listed by the ledger: GET /api/crawls/{summary.crawl.id}/pages"
            parts.append(Text(f"and {more} more {rest}", "dim"))
        parts.append(Text("each opens in any WACZ player, for example ReplayWeb.page", "dim"))
    if summary.politeness:
        parts += [Text(), Text("Politeness, from the ledger's visits", "bold"), politeness_table(summary.politeness)]
    parts += [Text(), _where(addresses, hint)]
    return Group(*parts)


def _headline(summary: Summary) -> Text:
    crawl = summary.crawl
    style = "bold green" if crawl.state == "succeeded" else "bold red"
    took = ""
    if crawl.finished_at is not None:
        took = f" in {(crawl.finished_at - crawl.started_at).total_seconds():.0f} s"
    line = Text.assemble(
        ("crawl ", "bold"),
        (crawl.id, "bold"),
        " ",
        (crawl.state, style),
        f" ({crawl.stop_reason})" if crawl.stop_reason else "",
        f": {summary.captured} of {counted(len(summary.pages), 'page')} captured"
        f" on {counted(summary.hosts, 'host')} over {counted(summary.levels, 'level')}{took}",
    )
    for one in survived(crawl):
        line.append(f"\nlevel {one.depth}: attempt {one.attempt} {one.ended}, tried again: {one.reason}", "yellow")
    if crawl.error:
        line.append(f"\n{crawl.error}", "red")
    return line


def _outcome_table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("pages", justify="right")
    table.add_column("outcome")
    table.add_column("reason", overflow="fold")
    table.add_column("for example", overflow="fold")
    for one in outcomes:
        table.add_row(str(one.pages), Text(one.state, STATE_STYLES[one.state]), Text(one.reason), Text(one.example))
    return table


@dataclass(frozen=True)
class _ArchiveTable:
    """One line for each archive: where it lies in full, since people copy that; the page cut where both do not fit."""

    archives: Sequence[Archive]
    folder: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        paths = [archive.path.removeprefix(f"{self.folder}/" if self.folder else "") for archive in self.archives]
        for_pages = options.max_width - max(map(cell_len, paths)) - 2 * COLUMN_GAP
        table = Table(box=None, padding=(0, COLUMN_GAP, 0, 0), header_style="dim")
        table.add_column("page", no_wrap=True, overflow="ellipsis", max_width=max(for_pages, SHORTEST_PAGE))
        table.add_column("archive", overflow="fold")
        for archive, path in zip(self.archives, paths, strict=True):
            table.add_row(Text(archive.url), Text(path))
        yield table


def folder_of(archives: Sequence[Archive]) -> str:
    """The folder that all of them lie in; empty where they lie in different stores."""
    if not archives or not all(archive.path.startswith("/") for archive in archives):
        return ""
    return commonpath([dirname(archive.path) for archive in archives])


def _where(addresses: Mapping[str, Any], hint: str) -> Text:
    return Text.assemble(
        ("ledger   ", "dim"), str(addresses.get("ledger", "")), "\n",
        ("Prefect  ", "dim"), str(addresses.get("prefectUi", "")), (f"\n{hint}" if hint else "", "dim"),
    )  # fmt: skip
