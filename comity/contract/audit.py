"""Wire models of the audit: how polite the visits were that the ledger keeps."""

from typing import Literal

from comity.contract.wire import Answer, Instant

AuditClock = Literal["run", "ledger", "reported"]
"""Which clock a gap was measured with. `run`: both visits by one flow run, on its own clock. `ledger`: visits by
different runs, from the leases that the ledger gave; whatever clocks are wrong elsewhere, the true gap is not shorter.
`reported`: different runs, and no lease to go by: what a flow's clock said, beside the ledger's."""


class VisitRef(Answer):
    """A visit. `submittedAt` and `finishedAt` are by its run's clock, the lease's times by the ledger's.

    Crawl, page and URL are empty where the visit is another organisation's. A watcher's visit has no crawl, and its
    `runId` is the watcher.
    """

    crawl_id: str
    page_id: str
    url: str
    attempt: int
    number: int
    run_id: str
    submitted_at: Instant
    finished_at: Instant
    leased_at: Instant | None = None
    left_at: Instant | None = None
    work: Literal["crawl", "watch"] = "crawl"


class Violation(Answer):
    """Two visits to a host closer than was promised. `gapMs` is negative where they overlapped."""

    kind: Literal["overlap", "short-gap"]
    gap_ms: int
    promised_ms: int
    clock: AuditClock
    earlier: VisitRef
    later: VisitRef


class HostAudit(Answer):
    """One host. `smallestGapMs` is None below two visits; `promisedMs` is the most that any visit promised.

    `kept`: no gap was shorter than what was promised for it. A promise can change from visit to visit, so that the
    smallest gap may lie under the largest promise and all were kept. `violations` are the first few of `broken`.
    """

    host: str
    visits: int
    crawls: int
    smallest_gap_ms: int | None
    clock: AuditClock | None
    promised_ms: int
    least_promised_ms: int
    kept: bool
    broken: int
    violations: list[Violation]


class AuditPage(Answer):
    """`GET /api/audit`: hosts by name. `next`: give it as `after` for the hosts that follow; absent at the end."""

    hosts: list[HostAudit]
    next: str | None = None
