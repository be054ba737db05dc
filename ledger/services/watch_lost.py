"""Jobs whose time is over: their worker died, or was cut off. Their pages are due again."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.watch import OURS
from ledger.rules import watch_due
from ledger.rules.watch_tally import TallyChange
from ledger.store import hosts_at_once, watch_queue
from ledger.store.database import Tx
from ledger.store.watch_queue import JobRow

AT_ONCE = 200
"""In one claim: the next one goes on."""


@dataclass(frozen=True)
class Lost:
    """How many, and what that does to the counts."""

    count: int
    tally: TallyChange


def end_lost(tx: Tx, lane: int, *, now: datetime) -> Lost:
    """End the jobs whose time is over. A host may have been visited until the last moment: that counts as a touch."""
    tally = TallyChange()
    ended = watch_queue.ended_jobs(tx, lane, AT_ONCE, now=now)
    if ended and lane == OURS:
        ended = _leave_the_gate(tx, ended)
    if not ended:
        return Lost(0, tally)
    host_ids = [job.host_id for job in ended]
    watch_queue.lock_hosts(tx, host_ids)
    dues = watch_queue.dues(tx, [job.page_id for job in ended])
    moved = []
    for job in ended:
        due = dues.get(job.page_id)
        if due is None:
            tally.landed(job.lane, job.organization, None)
            continue
        again_at = watch_due.after_loss(due.due_at, due.lost + 1, ended_at=job.lease_until)
        moved.append((job.page_id, again_at, due.lost + 1))
        tally.landed(job.lane, job.organization, again_at)
    watch_queue.set_dues(tx, moved)
    watch_queue.end_jobs(tx, [job.token for job in ended])
    watch_queue.rest(tx, {job.host_id: job.lease_until + timedelta(milliseconds=job.gap_ms) for job in ended})
    watch_queue.refresh(tx, host_ids)
    return Lost(len(ended), tally)


def _leave_the_gate(tx: Tx, ended: list[JobRow]) -> list[JobRow]:
    """Those of the jobs whose hosts could be locked at once, their leases ended."""
    gate = hosts_at_once.several_to_change(tx, [job.authority for job in ended], wait=False)
    leases = hosts_at_once.leases(tx, [job.token for job in ended])
    kept = [job for job in ended if job.authority in gate]
    for job in kept:
        host, held = gate[job.authority], leases.get(job.token)
        if held is not None and host.lease_id == job.token:
            hosts_at_once.touch(host, at=job.lease_until, rests_until=host.rests_until)
            hosts_at_once.give_back(host, held, how="expired", at=job.lease_until)
    return kept
