"""What the ledger's decisions cost beside bare writes of the same rows, on SQLite and on PostgreSQL.

- Closing a level of 10,000 results that bring 100,000 new links, against a bare bulk insert of the rows that it writes:
  at most `CLOSING_MOST` times, within `MEMORY_MOST_BYTES` for the whole process.
- `GET /api/crawls/{id}` of a crawl with 10,000 pages, against one with 10: at most `VIEW_MOST` times.
- A lease and its release through the API, against two bare writes, each a transaction of its own that is as durable: at
  most `LEASE_MOST` times.

Each measurement has a process and a database of its own. Of the few long ones the quickest counts, on both sides,
since other work on the machine only ever adds; of the many short ones the median. PostgreSQL is measured where
COMITY_TEST_POSTGRES names one. Prints every ratio; exit 1 where one is over its limit.
"""

import json
import multiprocessing
import resource
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sqlalchemy import Table, insert, update

from comity.contract.ledger import CloseLevel
from ledger.ids import new_id, new_ids
from ledger.store import pages
from ledger.store.database import Store
from ledger.store.models import Crawl, Host, Page
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger import databases
from tests.integration.ledger.desk import Desk, Json, ledger_at

CLOSING_MOST, VIEW_MOST, LEASE_MOST = 2.0, 3.0, 3.0
MEMORY_MOST_BYTES = 300 * 1024 * 1024
RESULTS, LINKS_EACH = 10_000, 10
ROUNDS, CALLS = 4, 60
SITE = "http://127.0.0.2:8000"
NOTHING = {"typescript": "7.0", "hostTypes": "1", "scripts": []}

Measured = dict[str, float]


def main() -> int:
    """0 where every ratio is within its limit."""
    kinds = [databases.SQLITE] + ([databases.POSTGRESQL] if databases.server() else [])
    if len(kinds) == 1:
        print(f"postgresql   not measured: {databases.NOT_HERE}")
    good = True
    for kind in kinds:
        rounds = [(_alone(_closing, kind), _alone(_bare_insert, kind)) for _ in range(ROUNDS)]
        peak = max(closing["peak_bytes"] for closing, _ in rounds)
        closed, bare = (min(one["taken_s"] for one in side) for side in zip(*rounds, strict=True))
        good &= _told(kind, "closing", f"{closed:7.3f} s, bare {bare:7.3f} s", closed / bare, CLOSING_MOST)
        good &= peak <= MEMORY_MOST_BYTES
        print(f"{kind:12} memory    {peak / 2**20:6.0f} MiB at its peak, at most {MEMORY_MOST_BYTES / 2**20:.0f}")
        view = _alone(_view, kind)
        words = f"{view['large_s'] * 1e3:7.2f} ms, small {view['small_s'] * 1e3:7.2f} ms"
        good &= _told(kind, "view", words, view["large_s"] / view["small_s"], VIEW_MOST)
        lease = _alone(_lease, kind)
        words = f"{lease['pair_s'] * 1e3:7.2f} ms, bare {lease['bare_s'] * 1e3:7.2f} ms"
        good &= _told(kind, "lease", words, lease["pair_s"] / lease["bare_s"], LEASE_MOST)
    return 0 if good else 1


def _told(kind: str, name: str, words: str, ratio: float, most: float) -> bool:
    print(f"{kind:12} {name:9} {words}; ratio {ratio:5.2f}, at most {most}")
    return ratio <= most


def _alone(measure: Callable[[str], Measured], kind: str) -> Measured:
    """The measurement in a process of its own, so that its peak of memory is its own too."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_child, args=(there, measure, kind))
    process.start()
    there.close()
    try:
        measured: Measured = here.recv()
    except EOFError:
        raise SystemExit(f"{measure.__name__} on {kind} failed; what went wrong stands above") from None
    process.join()
    return measured


def _child(answer: Connection, measure: Callable[[str], Measured], kind: str) -> None:
    answer.send(measure(kind))


@contextmanager
def _ledger(kind: str) -> Iterator[Desk]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-bench-")))
        url = stack.enter_context(databases.database(kind, durable=True))
        prefect = stack.enter_context(FakePrefect())
        yield stack.enter_context(ledger_at(folder / "data", folder / "store", prefect, database_url=url))


def _level(desk: Desk, count: int, links_each: int) -> str:
    """A crawl whose first level has so many captured pages with so many links each, ready to be closed."""
    crawl_id = desk.start(f"{SITE}/0", maxDepth=1, maxPages=10_000)
    now = datetime.now(UTC)
    with desk.parts.store.writing() as tx:
        rows = [(new_id("p"), f"{SITE}/{number}", "127.0.0.2:8000") for number in range(1, count)]
        pages.insert_frontier(tx, crawl_id=crawl_id, depth=0, pages=rows)
        tx.execute(update(Page).where(Page.crawl_id == crawl_id).values(state="captured", settled_at=now))
        crawl = tx.get_one(Crawl, crawl_id)
        crawl.policy = {**crawl.policy, "maxPages": count * (links_each + 1)}
        ids = list(tx.scalars(Page.__table__.select().with_only_columns(Page.id).where(Page.crawl_id == crawl_id)))
        every = {ident: [f"{SITE}/{ident}/{place}" for place in range(links_each)] for ident in ids}
        for start in range(0, count, 1000):
            pages.keep_links(tx, {ident: every[ident] for ident in ids[start : start + 1000]})
    return crawl_id


def _closing(kind: str) -> Measured:
    """The closing, its answer as it goes onto the wire included."""
    with _ledger(kind) as desk:
        crawl_id = _level(desk, RESULTS, LINKS_EACH)
        order = CloseLevel.model_validate({**desk.fence(crawl_id), "results": [], "compiled": NOTHING})
        began = time.perf_counter()
        answer = desk.parts.closings.close(crawl_id, order)
        said = answer.to_json()
        taken_s = time.perf_counter() - began
        assert len(answer.entered) == RESULTS * LINKS_EACH == said.count(b'"url"'), len(answer.entered)
        desk.post(f"/api/crawls/{crawl_id}/cancel")
    return {"taken_s": taken_s, "peak_bytes": _peak_bytes()}


def _bare_insert(kind: str) -> Measured:
    """One transaction with one bulk insert of the rows that the closing of the same level writes."""
    with _ledger(kind) as desk:
        crawl_id = _level(desk, RESULTS, LINKS_EACH)
        store = desk.parts.store
        with store.reading() as tx, pages.links_of_level(tx, crawl_id, 0) as found:
            urls = [url for links in found for url in links]
        ids = new_ids("p", len(urls))
        rows = [
            {
                "id": ident,
                "crawl_id": crawl_id,
                "depth": 1,
                "position": RESULTS + place,
                "url": url,
                "host": "127.0.0.2:8000",
                "state": "pending",
            }
            for place, (ident, url) in enumerate(zip(ids, urls, strict=True))
        ]
        assert len(rows) == RESULTS * LINKS_EACH
        table = Page.__table__
        assert isinstance(table, Table)
        began = time.perf_counter()
        with store.writing() as tx:
            tx.execute(insert(table), rows)
        taken_s = time.perf_counter() - began
        desk.post(f"/api/crawls/{crawl_id}/cancel")
    return {"taken_s": taken_s}


def _view(kind: str) -> Measured:
    with _ledger(kind) as desk:
        ids = {}
        for name, count in (("small_s", 10), ("large_s", 10_000)):
            ids[name] = _level(desk, count, 1)
            desk.post(f"/api/crawls/{ids[name]}/cancel")
        return _turn_about({name: partial(desk.crawl, ident) for name, ident in ids.items()})


def _lease(kind: str) -> Measured:
    with _ledger(kind) as desk:
        crawl_id = desk.start(f"{SITE}/", perHostDelayMs=0)
        fence = desk.fence(crawl_id)
        desk.order(crawl_id)
        holder = {"crawlId": crawl_id, "depth": 0, "attempt": fence["attempt"], "runId": fence["runId"]}
        lease = {"host": "127.0.0.2:8000", "holder": holder, "delayMs": 0}
        store = desk.parts.store
        with closing(_Line(desk)) as line:

            def pair() -> None:
                taken = line.post("/api/hosts/lease", lease)
                line.post("/api/hosts/release", {"leaseId": taken["leaseId"]})

            return _turn_about({"pair_s": pair, "bare_s": lambda: _two_writes(store)})


class _Line:
    """One kept connection to the ledger, by the plainest of clients: what its caller's library takes is not its own."""

    def __init__(self, desk: Desk) -> None:
        where = urlsplit(desk.url)
        self._headers = {"Authorization": f"Bearer {desk.flows_token}", "Content-Type": "application/json"}
        self._line = HTTPConnection(where.hostname or "", where.port, timeout=30)
        self._line.connect()
        assert self._line.sock is not None
        self._line.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, path: str, body: Json) -> Json:
        self._line.request("POST", path, json.dumps(body), self._headers)
        answer = self._line.getresponse()
        raw = answer.read()
        assert answer.status == 200, (answer.status, raw)
        found: Json = json.loads(raw)
        return found

    def close(self) -> None:
        self._line.close()


def _two_writes(store: Store) -> None:
    for _ in range(2):
        with store.writing() as tx:
            tx.execute(update(Host).values(last_touched_at=datetime.now(UTC)))


def _turn_about(calls: dict[str, Callable[[], Any]]) -> Measured:
    """The median of many calls of each, one after the other, so that noise meets all alike."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(CALLS):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(values[CALLS // 6 :]) for name, values in taken.items()}


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
