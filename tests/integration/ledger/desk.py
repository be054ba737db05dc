"""A ledger as its callers see it: the real application on a real database, listening on loopback."""

import asyncio
import hashlib
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvicorn

from comity.polite.rules.addresses import egress_rules
from ledger.app import create_app
from ledger.artifacts.s3_settings import S3Settings
from ledger.clock import Clock, utc_now
from ledger.parts import Parts, assemble
from ledger.rules import rights
from ledger.settings import Settings
from ledger.store.database import Store
from ledger.store.migrate import migrate
from ledger.tokens import load_or_make
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.prompt_server import PromptServer

DEADLINE_S = 60
LOOPBACK = egress_rules("127.0.0.0/8", "")
"""Where receivers of tests are."""
Json = dict[str, Any]
T = TypeVar("T")

database_url: str | None = None
"""The database of the test under way, set by its fixture; None: SQLite in the ledger's data folder."""


def wait_until(true: Callable[[], T], what: str, deadline_s: float = DEADLINE_S, every_s: float = 0.02) -> T:
    """Poll until it holds, and return what it then is; fail with `what` when it does not."""
    ends = time.monotonic() + deadline_s
    while not (found := true()):
        if time.monotonic() > ends:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        time.sleep(every_s)
    return found


@dataclass
class ShiftedClock:
    """The real clock plus what a test added."""

    ahead: timedelta = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def advance(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


class TokenByCall(httpx.Auth):
    """Shows the flows' token where a call is theirs, and the operator's everywhere else."""

    def __init__(self, folder: Path) -> None:
        self._tokens = {name: (folder / name).read_text().strip() for name in ("flows", "operator")}

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        needed = rights.rights_of(request.url.path).get(request.method, [])
        theirs = rights.may("flows", needed) and not rights.may("admin", needed)
        request.headers["Authorization"] = f"Bearer {self._tokens['flows' if theirs else 'operator']}"
        yield request


@dataclass
class Desk:
    """One running ledger, and a client that shows the token of whoever makes such calls. `token`: the operator's."""

    url: str
    token: str
    data: Path
    root: Path
    prefect: FakePrefect
    parts: Parts
    client: httpx.Client = field(repr=False)
    loop: asyncio.AbstractEventLoop = field(repr=False)

    @property
    def flows_token(self) -> str:
        """What flow runs show."""
        return (self.data / "tokens" / "flows").read_text().strip()

    def reconcile(self) -> None:
        """One pass of the ledger's own reconciler, to its end."""
        asyncio.run_coroutine_threadsafe(self.parts.reconciler.one_pass(), self.loop).result(DEADLINE_S)

    def get(self, path: str, status: int = 200, **params: Any) -> Json:
        return self._checked(self.client.get(path, params=params or None), status)

    def post(self, path: str, body: object = None, status: int = 200, **headers: str) -> Json:
        return self._checked(self.client.post(path, json=body, headers=headers), status)

    def start(self, *seeds: str, **policy: Any) -> str:
        """Start a crawl without scripts, and return its id once its first level has a run."""
        body = {"seeds": list(seeds) or ["http://127.0.0.2/"], "scripts": [], **policy}
        crawl_id: str = self.post("/api/crawls", body, 202)["crawlId"]
        self.run_id(crawl_id, 0)
        return crawl_id

    def last_run(self, crawl_id: str, depth: int, attempt: int | None = None) -> Json:
        """The run of a level, once it was dispatched: the newest attempt's, or that of a given one."""

        def there() -> Json | None:
            run: Json = self.crawl(crawl_id)["lastRun"] or {}
            return run if run.get("depth") == depth and attempt in (None, run["attempt"]) else None

        found = wait_until(there, f"level {depth} of {crawl_id} dispatched, attempt {attempt or 'any'}")
        assert found is not None
        return found

    def run_id(self, crawl_id: str, depth: int, attempt: int | None = None) -> str:
        """The flow run that was dispatched for a level."""
        run_id: str = self.last_run(crawl_id, depth, attempt)["id"]
        return run_id

    def crawl(self, crawl_id: str) -> Json:
        return self.get(f"/api/crawls/{crawl_id}")

    def order(self, crawl_id: str, depth: int = 0, status: int = 200, **params: Any) -> Json:
        run = self.last_run(crawl_id, depth)
        params = {"attempt": run["attempt"], "runId": run["id"], **params}
        return self.get(f"/api/crawls/{crawl_id}/levels/{depth}", status, **params)

    def fence(self, crawl_id: str, depth: int = 0, **other: Any) -> Json:
        run = self.last_run(crawl_id, depth)
        return {"depth": depth, "attempt": run["attempt"], "runId": run["id"], **other}

    def report(self, crawl_id: str, results: list[Json], depth: int = 0, **fence: Any) -> Json:
        return self.post(
            f"/api/crawls/{crawl_id}/results", {**self.fence(crawl_id, depth, **fence), "results": results}
        )

    def close(self, crawl_id: str, depth: int = 0, status: int = 200, **other: Any) -> Json:
        nothing = {"typescript": "7.0", "hostTypes": "1", "scripts": []}
        body = {**self.fence(crawl_id, depth), "results": [], "compiled": nothing, **other}
        return self.post(f"/api/crawls/{crawl_id}/pages", body, status)

    def captured(self, crawl_id: str, page: Json, links: list[Any] | None = None, **change: Any) -> Json:
        """Write what a capture server writes for a good capture, and return the flow's report of it."""
        return capture(self.root, crawl_id, page, links=links or [], **change)

    def do_level(self, crawl_id: str, depth: int = 0, links: dict[str, list[Any]] | None = None) -> Json:
        """Capture every page of a level; `links` says what each URL links to. Returns the closing's answer."""
        order = self.order(crawl_id, depth)
        for page in order["frontier"]:
            found = self.captured(crawl_id, page, (links or {}).get(page["url"]), attempt=order["attempt"])
            self.report(crawl_id, [found], depth)
        return self.close(crawl_id, depth)

    @staticmethod
    def _checked(answer: httpx.Response, status: int) -> Json:
        assert answer.status_code == status, f"{answer.status_code}, not {status}: {answer.text}"
        body: Json = answer.json() if answer.content else {}
        return body


def tried(outcome: str = "success", number: int = 1, task_id: str | None = None, **more: Any) -> Json:
    """One try, a second long, that ended just now."""
    now = datetime.now(UTC)
    return {
        "try": number,
        "endpoint": "http://127.0.0.1:1",
        "taskId": task_id,
        "submittedAt": (now - timedelta(seconds=1)).isoformat(),
        "finishedAt": now.isoformat(),
        "outcome": outcome,
        **more,
    }


def capture(
    root: Path,
    crawl_id: str,
    page: Json,
    *,
    links: list[Any],
    status: str = "success",
    reported: str = "captured",
    final_url: str | None = None,
    attempt: int = 1,
    number: int = 1,
    robots: list[Json] | None = None,
    **manifest: Any,
) -> Json:
    """Artifacts, links and manifest on disk as a capture server leaves them; returns the page's result."""
    url = page["url"]
    task_id = hashlib.sha256(f"{page['pageId']}{number}".encode()).hexdigest()[:16]
    stem = f"{task_id}_{crawl_id}.{page['pageId']}.{attempt}.{number}"
    good = status == "success"
    links_file, place = root / f"{stem}.links.json", root / f"{stem}.result.json"
    artifacts = {"wacz": (root / f"{stem}.wacz").as_uri(), "links": links_file.as_uri()}
    found = [link if isinstance(link, dict) else {"href": link} for link in links]
    if good:
        said = {} if robots is None else {"robots": robots}
        links_file.write_text(json.dumps({"url": url, "finalUrl": final_url or url, "links": found} | said), "utf-8")
    manifest = {
        "taskId": task_id,
        "correlationId": f"{crawl_id}.{page['pageId']}.{attempt}.{number}",
        "url": url,
        "finalUrl": final_url or url,
        "labels": [],
        "status": status,
        "httpStatusCode": 200 if good else 500,
        "timestamp": datetime.now(UTC).isoformat(),
        "captureProcessingTimeMs": 100,
        "artifacts": artifacts if good else {},
        "errorDetails": None if good else {"type": "http", "message": "the site said 500"},
        **manifest,
    }
    place.write_text(json.dumps(manifest), "utf-8")
    return {
        "pageId": page["pageId"],
        "url": url,
        "status": reported,
        "taskId": task_id,
        "manifestLocation": place.as_uri(),
        "tries": [tried(number=number, task_id=task_id)],
    }


@cache
def _new_sqlite() -> bytes:
    """A database with the ledger's schema and nothing in it: made once, for that is most of a ledger's start."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        store = Store(f"sqlite:///{path}")
        migrate(store)
        store.close()
        return path.read_bytes()


@contextmanager
def ledger_at(
    data: Path,
    root: Path,
    prefect: FakePrefect,
    *,
    clock: Clock = utc_now,
    reconcile: float = 3600,
    s3: S3Settings | None = None,
    sink: bool = False,
    **settings: Any,
) -> Iterator[Desk]:
    """Start the ledger on these folders, and on a bucket. Its timers sleep unless it is said how often they look.

    `sink`: its work orders name itself as the sink of artifacts.
    """
    # With the protocol named, asyncio turns Nagle's delay off; without it each answer takes 40 ms.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    root.mkdir(parents=True, exist_ok=True)
    chosen = Settings(
        **{
            "port": 0,
            "data": data,
            "artifact_root": root,
            "prefect_api_url": prefect.url,
            "prefect_auth_string": prefect.auth,
            "reconcile_every_s": min(reconcile, 40),
            "catch_up_every_s": 3600,
            "tell_every_s": 3600,
            "sink_url": url if sink else None,
            "database_url": database_url,
            **settings,
        }
    )
    own = data / "ledger.db"
    if chosen.database_url is None and not own.exists():
        own.write_bytes(_new_sqlite())
    store = Store(chosen.store_url)
    migrate(store)
    parts = assemble(chosen, store, load_or_make(data / "tokens"), clock, s3=s3, egress=LOOPBACK)
    config = uvicorn.Config(create_app(parts), log_config=None, access_log=False, ws="none", timeout_keep_alive=75)
    server = PromptServer(config)
    loop = (config.get_loop_factory() or asyncio.new_event_loop)()
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve(sockets=[bound])), daemon=True)
    thread.start()
    wait_until(lambda: server.started, "the ledger listens", every_s=0.002)
    token = (data / "tokens" / "operator").read_text().strip()
    try:
        with httpx.Client(base_url=url, auth=TokenByCall(data / "tokens"), trust_env=False, timeout=30) as client:
            yield Desk(url, token, data, root, prefect, parts, client, loop)
    finally:
        server.should_exit = True
        thread.join(DEADLINE_S)
        assert not thread.is_alive()
        loop.close()
