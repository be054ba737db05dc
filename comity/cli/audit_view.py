"""The ledger's audit as people and programs read it."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from blocks.clients.ledger import LedgerClient
from comity.cli.console import counted
from comity.contract.audit import HostAudit, VisitRef

CLOCKS = {
    "run": "the flow run's own clock",
    "ledger": "the ledger's clock, by leases",
    "reported": "what different clocks said, without leases",
}
COLUMN_GAP = (0, 2, 0, 0)


def audits_of(ledger: LedgerClient, crawl_id: str | None) -> Iterator[HostAudit]:
    """Every host of a crawl, or of all (None), a few at a time. Raises a ServiceError."""
    after = ""
    while True:
        page = ledger.audit(crawl_id, after=after)
        yield from page.hosts
        if page.next is None:
            return
        after = page.next


def audit_json(audits: Sequence[HostAudit]) -> list[dict[str, Any]]:
    """Plain JSON data, names in camelCase, what is unknown as null."""
    return [one.model_dump(mode="json", by_alias=True) for one in audits]


def politeness_table(audits: Sequence[HostAudit]) -> Table:
    """One line for each host."""
    table = Table(box=None, padding=COLUMN_GAP, header_style="dim")
    table.add_column("host")
    table.add_column("visits", justify="right")
    table.add_column("smallest gap", justify="right")
    table.add_column("promised", justify="right")
    table.add_column("")
    for one in audits:
        gap = "-" if one.smallest_gap_ms is None else f"{one.smallest_gap_ms / 1000:.2f} s"
        verdict = Text("kept", "green") if one.kept else Text(f"broken, {counted(one.broken, 'time')}", "bold red")
        table.add_row(one.host, str(one.visits), gap, _promise(one), verdict)
    return table


def render_audit(audits: Sequence[HostAudit]) -> RenderableType:
    """All hosts, then each broken promise, then what the figures were measured by."""
    broken = [one for one in audits if not one.kept]
    parts: list[RenderableType] = [politeness_table(audits)]
    if broken:
        parts += [Text(), _violations(broken)]
        untold = sum(one.broken - len(one.violations) for one in broken)
        if untold:
            parts.append(Text(f"and {untold} more", "dim"))
    clocks = {one.clock for one in audits if one.clock} | {two.clock for one in broken for two in one.violations}
    visits, hosts = sum(one.visits for one in audits), len(audits)
    said = f"{visits} visits to {hosts} hosts"
    parts += [Text(), Text(f"{said}: {len(broken)} hosts were not given what they were promised", "bold red")]
    if not broken:
        parts[-1] = Text(f"{said}: every promise was kept", "bold green")
    parts += [Text(f"{clock}: gaps by {CLOCKS[clock]}", "dim") for clock in CLOCKS if clock in clocks]
    return Group(*parts)


def _violations(broken: Sequence[HostAudit]) -> Table:
    table = Table(box=None, padding=COLUMN_GAP, header_style="dim")
    for name in ("host", "what", "gap", "promised", "clock", "earlier", "later"):
        table.add_column(name, overflow="fold")
    for host in broken:
        for one in host.violations:
            gap, promised = f"{one.gap_ms / 1000:.2f} s", f"{one.promised_ms / 1000:.2f} s"
            table.add_row(host.host, one.kind, gap, promised, one.clock, _visit(one.earlier), _visit(one.later))
    return table


def _visit(visit: VisitRef) -> str:
    work = visit.crawl_id or (visit.work == "watch" and visit.page_id)
    whose = f"{work} {visit.url}" if work else "another organisation's"
    began, ended = (f"{at:%Y-%m-%d %H:%M:%S.%f}"[:-3] for at in (visit.submitted_at, visit.finished_at))
    return f"{whose} try {visit.number}, {began} to {ended[11:]}"


def _promise(one: HostAudit) -> str:
    """One figure; two where it changed from visit to visit, for example because the host asked for more rest."""
    least = "" if one.least_promised_ms == one.promised_ms else f"{one.least_promised_ms / 1000:.2f}-"
    return f"{least}{one.promised_ms / 1000:.2f} s"
