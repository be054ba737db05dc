"""A ledger with watched pages, as its people and its workers see it."""

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.integration.ledger.desk import Desk, Json, ShiftedClock

HOST = "127.0.0.2:8000"
SITE = f"http://{HOST}"
OFFERS = """extractor "offers" version="2026-01-01" language-version="2026-07-15" {
  source "html" { fetch mode="http" url="https://site.example/" }
  field "name" type="string" required=#true {
    select "h2.name" match="first"
    value "text"
  }
  field "price" type="string" required=#true {
    select "b.price" match="first"
    value "text"
  }
}
"""
"""An extractor with two fields."""
SOON_S = 86_400.0 * 40
"""Longer than any page waits for its next visit."""


@dataclass
class StoppedClock(ShiftedClock):
    """A clock that goes on when a test says so: on a slow machine seconds pass between two calls."""

    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.began + self.ahead


@dataclass
class Watch:
    """A ledger and its clock, which no watch waits for."""

    desk: Desk
    clock: ShiftedClock

    def add(self, *urls: str, **more: Any) -> list[str]:
        """Watch these URLs; returns the pages."""
        pages = [{"url": url, **more} for url in urls]
        ids: list[str] = self.desk.post("/api/watch/pages", {"pages": pages}, 201)["pageIds"]
        self.clock.advance(len(pages) / 1000)  # they are due one after the other
        return ids

    def page(self, page_id: str) -> Json:
        return self.desk.get(f"/api/watch/pages/{page_id}")

    def change(self, page_id: str, status: int = 200, **change: Any) -> Json:
        return self.desk._checked(self.desk.client.patch(f"/api/watch/pages/{page_id}", json=change), status)

    def remove(self, page_id: str, status: int = 204) -> None:
        self.desk._checked(self.desk.client.delete(f"/api/watch/pages/{page_id}"), status)

    def claim(self, most: int = 10, **more: Any) -> list[Json]:
        order = {"worker": "worker-1", "max": most, **more}
        jobs: list[Json] = self.desk.post("/api/watch/queue/claim", order)["jobs"]
        return jobs

    def only(self, **more: Any) -> Json:
        """The one job that there is."""
        jobs = self.claim(**more)
        assert len(jobs) == 1, jobs
        return jobs[0]

    def complete(self, *reports: Json, worker: str = "worker-1", status: int = 200) -> list[Json]:
        body = {"worker": worker, "jobs": list(reports)}
        answer = self.desk.post("/api/watch/queue/complete", body, status)
        jobs: list[Json] = answer.get("jobs", [answer])
        return jobs

    def done(self, job: Json, outcome: str = "unchanged", **more: Any) -> Json:
        """Report the job; it counts."""
        answer = self.complete(report(job, outcome, **more))[0]
        assert answer["accepted"], answer
        return answer

    def give_back(self, *tokens: str) -> list[bool]:
        answer = self.desk.post("/api/watch/queue/return", {"tokens": list(tokens)})
        return [job["accepted"] for job in answer["jobs"]]

    def renew(self, *tokens: str, lease_ms: int = 120_000) -> list[int | None]:
        answer = self.desk.post("/api/watch/queue/renew", {"tokens": list(tokens), "leaseMs": lease_ms})
        return [job.get("expiresInMs") for job in answer["jobs"]]

    def counts(self) -> tuple[int, int, int]:
        """Processing | Delayed | Queued."""
        found = self.desk.get("/api/watch/counts")["visits"]
        return found["processing"], found["delayed"], found["queued"]

    def events(self, page_id: str) -> list[Json]:
        found: list[Json] = self.desk.get(f"/api/watch/pages/{page_id}/events")["events"]
        return found

    def history(self, page_id: str) -> list[Json]:
        found: list[Json] = self.desk.get(f"/api/watch/pages/{page_id}/history")["visits"]
        return found

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)


def content(text: str) -> Json:
    return {"text": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def visit(url: str, *, began_s: float = 0.2, took_s: float = 0.1, waited_ms: int = 0, **more: Any) -> Json:
    """A request that began a moment ago, by the worker's own clock."""
    submitted = datetime.now(UTC) - timedelta(seconds=began_s)
    return {
        "url": url,
        "submittedAt": submitted.isoformat(),
        "finishedAt": (submitted + timedelta(seconds=took_s)).isoformat(),
        "waitedMs": waited_ms,
        "outcome": "200",
        **more,
    }


def report(job: Json, outcome: str, *, visited: bool = True, **more: Any) -> Json:
    """What a worker says of a job."""
    visits = [visit(job["url"], waited_ms=job["waitMs"])] if visited else []
    base: Json = {"token": job["token"], "outcome": outcome, "visits": visits, "httpStatus": 200}
    if outcome == "failed":
        base |= {"code": "E_TIMEOUT", "reason": "no answer within 30000 ms"}
    if outcome == "skipped":
        base |= {"reason": "robots.txt forbids it"}
    if outcome == "rehearsed":
        base = {"token": job["token"], "outcome": outcome}
    return {**base, **more}


def changed(before: str, after: str, *, added: list[str] | None = None) -> Json:
    """The parts of a report of a change from one text to another."""
    hunk = {"beforeLine": 1, "afterLine": 1, "removed": [before], "added": added or [after]}
    return {
        "beforeSha256": content(before)["sha256"],
        "content": content(after),
        "diff": {"hunks": [hunk], "removedLines": 1, "addedLines": len(added or [after])},
    }
