"""What the queue of watched pages costs with millions of pages beside what it costs with thousands.

- A polite cycle (claim and report in batches of 100, through the services and the store, host gate and evidence
  included) with `--pages` pages (5,000,000 unless told otherwise) against 50,000: at most `CYCLE_MOST` times.
- The counters Processing | Delayed | Queued, likewise: at most `COUNTERS_MOST` times; a COUNT(*) is named beside them.
- The disk that the queue takes: under `DISK_MOST_BYTES` for the whole SQLite database, pages and hosts included.

Both databases are measured in turns, so that other work on the machine slows both; medians count. PostgreSQL is
measured where COMITY_TEST_POSTGRES names one. Loading takes a few minutes. Prints every ratio; exit 1 where one is over
its limit.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg
from sqlalchemy import make_url, text

from comity.contract.watch import OURS
from comity.contract.watch_queue import ClaimJobs, CompleteJobs, Job
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.folder import Folder
from ledger.rules.watch_pages import url_digest
from ledger.rules.watch_tally import IN_QUEUE
from ledger.services.watch_terms import WatchTerms
from ledger.services.watching import Watching, watching
from ledger.store import watch_tally
from ledger.store.database import Store
from ledger.store.migrate import migrate
from ledger.store.types import to_millis
from tests.integration.ledger import databases

CYCLE_MOST, COUNTERS_MOST = 2.0, 2.0
DISK_MOST_BYTES = 10**9
MANY, FEW = 5_000_000, 50_000
PAGES_A_HOST = 20
BATCH, BATCHES, ROUNDS, WARM_UP = 100, 20, 6, 10
STEP = timedelta(seconds=2)
"""So far the clock goes on from batch to batch: hosts come back while the measurement lasts, in both databases."""
COUNTS = 30
BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
BEGIN_MS = to_millis(BEGIN)
LATE_MS, AHEAD_MS = 3_600_000, 86_400_000
ORGANIZATION = "default"
INDEXES = ("watch_page_url", "watch_due_order", "watch_host_ready", "watch_host_resting")


@dataclass
class Clock:
    """The ledger's clock, which goes on when it is told to."""

    now: datetime = BEGIN

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Queue:
    """A database with pages, and the services over it."""

    store: Store
    parts: Watching
    clock: Clock
    pages: int
    load_s: float

    def batch(self) -> float:
        """Seconds that one batch took: claimed and reported."""
        self.clock.now += STEP
        began_s = time.perf_counter()
        jobs = self.parts.claims.claim(ClaimJobs(worker="bench", max=BATCH)).jobs
        self.parts.completions.complete(CompleteJobs(worker="bench", jobs=[self._report(job) for job in jobs]))
        took_s = time.perf_counter() - began_s
        assert len(jobs) == BATCH, f"only {len(jobs)} hosts were ready among {self.pages} pages"
        return took_s

    def counters_s(self) -> float:
        """Seconds of one look at the counters."""
        with self.store.reading() as tx:
            began_s = time.perf_counter()
            found = watch_tally.lane_figures(tx, None, now=self.clock.now, lanes=(OURS,))[OURS]
            took_s = time.perf_counter() - began_s
        assert found.delayed + found.queued + found.processing == self.pages
        return took_s

    def counted_s(self) -> float:
        """The same by counting rows."""
        with self.store.reading() as tx:
            began_s = time.perf_counter()
            tx.execute(text("SELECT count(*) FROM watch_due WHERE due_at < :now"), {"now": to_millis(self.clock.now)})
            return time.perf_counter() - began_s

    def _report(self, job: Job) -> Any:
        at = self.clock.now + timedelta(milliseconds=job.wait_ms)
        visit = {"url": job.url, "submittedAt": at, "finishedAt": at, "waitedMs": job.wait_ms, "outcome": "304"}
        return {"token": job.token, "outcome": "not-modified", "httpStatus": 304, "visits": [visit]}


def main() -> int:
    """0 where every ratio is within its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=MANY)
    many = parser.parse_args().pages
    kinds = [databases.SQLITE] + ([databases.POSTGRESQL] if databases.server() else [])
    if len(kinds) == 1:
        print(f"postgresql   not measured: {databases.NOT_HERE}")
    good = [_measure(kind, many) for kind in kinds]
    return 0 if all(good) else 1


def _measure(kind: str, many: int) -> bool:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        few_queue, many_queue = (_open(stack, kind, folder / str(count), count) for count in (FEW, many))
        bytes_taken = _disk_bytes(many_queue.store)
        print(f"{kind:12} {many:,} pages loaded in {many_queue.load_s:.0f} s")
        batches: dict[int, list[float]] = {FEW: [], many: []}
        for queue in (few_queue, many_queue):
            for _ in range(WARM_UP):
                queue.batch()
        for _ in range(ROUNDS):
            for queue in (few_queue, many_queue):
                batches[queue.pages] += [queue.batch() for _ in range(BATCHES)]
        few_s, many_s = (statistics.median(batches[count]) for count in (FEW, many))
        said = f"{BATCH / many_s:6.0f} a second with {many:,} pages, {BATCH / few_s:6.0f} with {FEW:,}"
        good = _told(kind, "polite cycle", said, many_s / few_s, CYCLE_MOST)
        counters = [statistics.median(queue.counters_s() for _ in range(COUNTS)) for queue in (few_queue, many_queue)]
        said = f"{counters[1] * 1000:.2f} ms, {counters[0] * 1000:.2f} ms; counting rows {many_queue.counted_s():.2f} s"
        good &= _told(kind, "counters", said, counters[1] / counters[0], COUNTERS_MOST)
        if kind == databases.SQLITE:
            good &= _told(kind, "disk", f"{bytes_taken / 1e6:.0f} MB", bytes_taken / DISK_MOST_BYTES, 1.0)
        else:
            queue_bytes = _queue_bytes(many_queue.store)
            print(f"{kind:12} disk: {bytes_taken / 1e6:.0f} MB in all, {queue_bytes / 1e6:.0f} MB of it the queue")
            good &= queue_bytes < DISK_MOST_BYTES
        return good


def _told(kind: str, what: str, said: str, ratio: float, most: float) -> bool:
    good = ratio <= most
    print(f"{kind:12} {what}: {said}; ratio {ratio:.2f} (at most {most:g}){'' if good else '  TOO MUCH'}", flush=True)
    return good


# --- databases with so many pages


def _open(stack: ExitStack, kind: str, folder: Path, count: int) -> Queue:
    folder.mkdir()
    if kind == databases.SQLITE:
        assert shutil.disk_usage(folder).free > 4 * DISK_MOST_BYTES, f"{folder} has not enough room"
        url = f"sqlite:///{folder / 'ledger.db'}"
    else:
        url = stack.enter_context(databases.empty_database(durable=True))
    store = Store(url)
    stack.callback(store.close)
    migrate(store)
    began_s = time.perf_counter()
    (_load_sqlite if kind == databases.SQLITE else _load_postgresql)(store, count)
    load_s = time.perf_counter() - began_s
    clock = Clock()
    terms = WatchTerms(visits_a_second=100_000)
    return Queue(store, watching(store, Artifacts([Folder(folder)]), clock, terms), clock, count, load_s)


def _host(number: int) -> str:
    return f"www.site-{number}.example"


def _due(number: int) -> int:
    """Half of the pages are late, the others are due within a day; always the same for a page."""
    dice = number * 2_654_435_761 % 2**32  # Knuth's multiplicative hash: as good as chance here, and fast
    half = dice // 2
    return BEGIN_MS - half % LATE_MS if dice % 2 else BEGIN_MS + half % AHEAD_MS


def _pages(count: int) -> Iterator[tuple[Any, ...]]:
    for number in range(1, count + 1):
        url = f"https://{_host(number % (count // PAGES_A_HOST))}/articles/{number}"
        yield number, ORGANIZATION, url, url_digest(ORGANIZATION, url), "", OURS, False, BEGIN_MS


def _dues(count: int) -> Iterator[tuple[int, int, int]]:
    for number in range(1, count + 1):
        yield number, number % (count // PAGES_A_HOST) + 1, _due(number)


def _tally(count: int) -> list[tuple[int, int]]:
    minutes = Counter(_due(number) // 60_000 for number in range(1, count + 1))
    return [(IN_QUEUE, count), *minutes.items()]


HOSTS = "INSERT INTO watch_host (id, authority, lane, rests_until, ahead, first_due_at, ready_at)"
FIRST = "SELECT host_id, min(due_at) AS due FROM watch_due GROUP BY host_id"
READY = f"UPDATE watch_host SET first_due_at = f.due, ready_at = f.due FROM ({FIRST}) f WHERE f.host_id = watch_host.id"


def _load_sqlite(store: Store, count: int) -> None:
    raw = store.engine.raw_connection()
    cursor: Any = raw.cursor()  # sqlite3 takes iterators, and five million rows need one
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-600000", "foreign_keys=OFF"):
        cursor.execute(f"PRAGMA {pragma}")
    kept = {
        name: cursor.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0] for name in INDEXES
    }
    for name in INDEXES:
        cursor.execute(f"DROP INDEX {name}")
    cursor.execute("BEGIN")
    columns = "id, organization, url, url_digest, title, version, paused, added_at"
    cursor.executemany(f"INSERT INTO watch_page ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _pages(count))
    hosts = count // PAGES_A_HOST
    names = ((number + 1, _host(number), OURS, 0, 0, None, None) for number in range(hosts))
    cursor.executemany(f"{HOSTS} VALUES (?, ?, ?, ?, ?, ?, ?)", names)
    cursor.executemany("INSERT INTO watch_due (page_id, host_id, due_at) VALUES (?, ?, ?)", _dues(count))
    cursor.executemany("INSERT INTO host (authority) VALUES (?)", ((_host(number),) for number in range(hosts)))
    rows = ((OURS, ORGANIZATION, minute, 0, pages) for minute, pages in _tally(count))
    cursor.executemany(
        "INSERT INTO watch_tally (lane, organization, minute, shard, pages) VALUES (?, ?, ?, ?, ?)", rows
    )
    cursor.execute("COMMIT")
    for name in INDEXES:
        cursor.execute(kept[name])
    cursor.execute(READY)
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.close()
    raw.close()
    store.engine.dispose()


def _load_postgresql(store: Store, count: int) -> None:
    url = make_url(store.engine.url).set(drivername="postgresql")
    with psycopg.connect(url.render_as_string(hide_password=False)) as connection, connection.cursor() as cursor:
        kept = [
            cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", (name,)).fetchone()
            for name in INDEXES
        ]
        for name in INDEXES:
            cursor.execute(f"DROP INDEX {name}")
        columns = "id, organization, url, url_digest, title, version, paused, added_at"
        _copy(cursor, f"watch_page ({columns})", _pages(count))
        hosts = count // PAGES_A_HOST
        names = ((number + 1, _host(number), OURS, 0, False) for number in range(hosts))
        _copy(cursor, "watch_host (id, authority, lane, rests_until, ahead)", names)
        _copy(cursor, "watch_due (page_id, host_id, due_at)", _dues(count))
        _copy(cursor, "host (authority)", ((_host(number),) for number in range(hosts)))
        rows = ((OURS, ORGANIZATION, minute, 0, pages) for minute, pages in _tally(count))
        _copy(cursor, "watch_tally (lane, organization, minute, shard, pages)", rows)
        cursor.execute(READY)
        for row in kept:
            assert row is not None
            cursor.execute(row[0])
        connection.commit()
        connection.autocommit = True
        cursor.execute("VACUUM ANALYZE")


def _copy(cursor: Any, into: str, rows: Iterator[tuple[Any, ...]]) -> None:
    with cursor.copy(f"COPY {into} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _disk_bytes(store: Store) -> int:
    if store.engine.dialect.name == "postgresql":
        with store.reading() as tx:
            return int(tx.scalar(text("SELECT pg_database_size(current_database())")) or 0)
    assert store.engine.url.database is not None
    return Path(store.engine.url.database).stat().st_size


def _queue_bytes(store: Store) -> int:
    tables = "'watch_due', 'watch_host', 'watch_job', 'watch_tally', 'watch_pace', 'host'"
    query = f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname IN ({tables})"
    with store.reading() as tx:
        return int(tx.scalar(text(query)) or 0)


if __name__ == "__main__":
    raise SystemExit(main())
