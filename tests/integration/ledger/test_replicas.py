"""Two ledger processes on one PostgreSQL: whatever both do at once happens once, and one's death is nobody's loss."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

import httpx
import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger import databases
from tests.integration.ledger.desk import Json, TokenByCall, capture, wait_until
from tests.integration.ledger.processes import ledger_process

pytestmark = pytest.mark.one_database

SITE = "http://127.0.0.2:8000"
NOTHING = {"typescript": "7.0", "hostTypes": "1", "scripts": []}
RACES = 6


@dataclass
class Pair:
    """Two ledgers that share a database, a Prefect and a folder of artifacts."""

    processes: list["Popen[str]"]
    clients: list[httpx.Client]
    prefect: FakePrefect
    root: Path

    def at_once(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> list[httpx.Response]:
        """The same request many times at once, half of them to each."""

        def ask(number: int) -> httpx.Response:
            return self.clients[number % 2].request(method, path, json=body, headers=headers)

        with ThreadPoolExecutor(RACES) as pool:
            return list(pool.map(ask, range(RACES)))

    def crawl(self, crawl_id: str, ledger: int = 0) -> Json:
        view: Json = self.clients[ledger].get(f"/api/crawls/{crawl_id}").json()
        return view

    def fence(self, crawl_id: str, depth: int = 0) -> Json:
        wait_until(
            lambda: (self.crawl(crawl_id, 1)["lastRun"] or {}).get("depth") == depth, f"level {depth} has a run", 60
        )
        return {"depth": depth, "attempt": 1, "runId": self.crawl(crawl_id, 1)["lastRun"]["id"]}

    def frontier(self, crawl_id: str, depth: int = 0) -> list[Json]:
        params = {"attempt": 1, "runId": self.fence(crawl_id, depth)["runId"]}
        order = self.clients[1].get(f"/api/crawls/{crawl_id}/levels/{depth}", params=params).json()
        pages: list[Json] = order["frontier"]
        return pages


@pytest.fixture
def pair(tmp_path: Path, prefect: FakePrefect) -> Iterator[Pair]:
    if databases.server() is None:
        pytest.skip(databases.NOT_HERE)
    with ExitStack() as stack:
        url = stack.enter_context(databases.empty_database())
        settings = {
            "LEDGER_DATABASE_URL": url,
            "LEDGER_PREFECT_API_URL": prefect.url,
            "LEDGER_ARTIFACT_ROOT": str(tmp_path / "store"),
            "LEDGER_RECONCILE_EVERY_S": "0.3",
        }
        # Both find an empty database: one makes the schema, the other waits.
        (tmp_path / "a").mkdir()
        with ThreadPoolExecutor(2) as pool:
            begun = [pool.submit(stack.enter_context, ledger_process(tmp_path / name, **settings)) for name in "ab"]
        listening = [one.result() for one in begun]
        clients = []
        for name, (_, address) in zip("ab", listening, strict=True):
            auth = TokenByCall(tmp_path / name / "data" / "tokens")
            clients.append(stack.enter_context(httpx.Client(base_url=address, auth=auth, trust_env=False, timeout=60)))
        yield Pair([process for process, _ in listening], clients, prefect, tmp_path / "store")


def _start(pair: Pair, **change: Any) -> str:
    order = {"seeds": [f"{SITE}/"], "scripts": [], "maxDepth": 1, **change}
    answers = pair.at_once("POST", "/api/crawls", order)
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * (RACES - 1)
    [crawl_id] = {answer.json()["crawlId"] for answer in answers}
    return str(crawl_id)


def test_whatever_both_do_at_once_happens_once(pair: Pair) -> None:
    crawl_id = _start(pair)
    [page] = pair.frontier(crawl_id)
    result = capture(pair.root, crawl_id, page, links=[f"{SITE}/{number}" for number in range(50)])
    report = {**pair.fence(crawl_id), "results": [result]}
    answers = pair.at_once("POST", f"/api/crawls/{crawl_id}/results", report)
    assert {(answer.status_code, answer.json()["stop"]) for answer in answers} == {(200, False)}
    [row] = pair.clients[0].get(f"/api/crawls/{crawl_id}/pages").json()["pages"]
    assert (row["state"], len(row["visits"])) == ("captured", 1)
    body = {**pair.fence(crawl_id), "results": [], "compiled": NOTHING}
    closings = pair.at_once("POST", f"/api/crawls/{crawl_id}/pages", body)
    assert {answer.status_code for answer in closings} == {200}
    assert len({answer.text for answer in closings}) == 1
    assert len(closings[0].json()["next"]) == 29
    counts = {"pending": 29, "captured": 1, "failed": 0, "skipped": 0}
    assert pair.crawl(crawl_id)["counts"] == pair.crawl(crawl_id, 1)["counts"] == counts
    pair.fence(crawl_id, 1)
    assert len(pair.prefect.runs) == 2  # one for each level, whoever dispatched it
    cancelled = pair.at_once("POST", f"/api/crawls/{crawl_id}/cancel")
    assert {answer.status_code for answer in cancelled} == {200}


def test_same_key_at_both_is_one_crawl(pair: Pair) -> None:
    order = {"seeds": [f"{SITE}/"], "scripts": []}
    # Callers are told apart by their token's name, so the same key at both ledgers is the same start.
    answers = pair.at_once("POST", "/api/crawls", order, {"Idempotency-Key": "nightly"})
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["crawlId"] for answer in answers}) == 1


def test_crawl_of_a_ledger_that_was_killed_goes_on_at_the_other(pair: Pair) -> None:
    pair.prefect.away = True  # so that the dispatch is still owed when its ledger dies
    answer = pair.clients[0].post("/api/crawls", json={"seeds": [f"{SITE}/"], "scripts": [], "maxDepth": 1})
    crawl_id = answer.json()["crawlId"]
    pair.processes[0].kill()
    pair.prefect.away = False
    fence = pair.fence(crawl_id)
    [page] = pair.frontier(crawl_id)
    result = capture(pair.root, crawl_id, page, links=[])
    close = {**fence, "results": [result], "compiled": NOTHING}
    closed = pair.clients[1].post(f"/api/crawls/{crawl_id}/pages", json=close)
    assert closed.json() == {"next": [], "stopReason": "completed"}
    assert pair.crawl(crawl_id, 1)["state"] == "succeeded"
    assert len(pair.prefect.runs) == 1
