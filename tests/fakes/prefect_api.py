"""A small Prefect API over real HTTP, with the calls that ledger and doctor make and states that a test scripts.

It behaves as Prefect 3 was seen to: one run per idempotency key whatever the parameters, 503 when it is busy, 404 for
what it does not know, HTTP Basic where it is configured, and runs that are over or not begun when they are cancelled.
"""

import json
import threading
import uuid
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

OVER = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


class FakePrefect:
    """Use as a context manager. `runs` are flow runs by id, `calls` every request as (method, path)."""

    def __init__(
        self, deployments: tuple[str, ...] = ("crawl-level/crawl-level", "extract-pages/extract-pages"), auth: str = ""
    ) -> None:
        self.deployments = {name: str(uuid.uuid4()) for name in deployments}
        self.runs: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.busy = 0
        """How many of the next requests get `busy_status`."""
        self.busy_status = 503
        self.busy_at = ""
        """Only requests whose path has this in it are refused so."""
        self.retry_after: str | None = None
        """What a refusal asks to wait for."""
        self.unheard = 0
        """How many of the next POSTs are done while the answer is lost."""
        self.pools: tuple[str, ...] = ("comity-levels", "comity-extractions", "comity-triggers", "comity-watchers")
        self.begins_as = "SCHEDULED"
        """The state of new runs."""
        self.artifacts: list[dict[str, Any]] = []
        self.away = False
        """While true, connections are cut without an answer."""
        self.refuse_creation: tuple[int, str] | None = None
        self.auth = auth
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The API's base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/api"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def run_of(self, key: str) -> dict[str, Any] | None:
        """The run that was created with this idempotency key."""
        with self._lock:
            return next((run for run in self.runs.values() if run["idempotency_key"] == key), None)

    def set_state(self, run_id: str, kind: str, message: str = "") -> None:
        """What the run's state is from now on."""
        with self._lock:
            self.runs[run_id]["state"] = {"type": kind, "name": kind.capitalize(), "message": message}

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, object]:
        """Status and JSON of one request."""
        parts = [part for part in path.removeprefix("/api/").split("/") if part]
        match method, parts:
            case "GET", ["health"]:
                return 200, True
            case "GET", ["deployments", "name", flow, deployment]:
                ident = self.deployments.get(f"{flow}/{deployment}")
                return (200, {"id": ident}) if ident else (404, {"detail": "Deployment not found"})
            case "POST", ["deployments", ident, "create_flow_run"]:
                return self._create(ident, body)
            case "GET", ["flow_runs", ident]:
                run = self.runs.get(ident)
                return (200, run) if run else (404, {"detail": "Flow run not found"})
            case "POST", ["flow_runs", ident, "set_state"]:
                if ident not in self.runs:
                    return 404, {"detail": "Flow run not found"}
                return self._set_state(self.runs[ident], body["state"])
        return self._answer_doctor(method, parts)

    def _answer_doctor(self, method: str, parts: list[str]) -> tuple[int, object]:
        match method, parts:
            case "GET", ["admin", "version"]:
                return 200, "3.9.0"
            case "GET", ["work_pools", pool] if pool in self.pools:
                return 200, {"name": pool, "type": "process", "is_paused": False}
            case "POST", ["work_pools", pool, "workers", "filter"] if pool in self.pools:
                return 200, [{"name": f"{pool}-worker", "status": "ONLINE"}]
            case "POST", ["artifacts", "filter"]:
                return 200, self.artifacts
        return 404, {"detail": "Not Found"}

    def _set_state(self, run: dict[str, Any], wanted: dict[str, Any]) -> tuple[int, object]:
        """As Prefect does: what is over stays as it is, and what nobody has begun is cancelled at once."""
        begun = run["state"]["type"]
        if begun in OVER:
            return 200, {"status": "ABORT", "state": None}
        if begun == "SCHEDULED" and wanted["type"] == "CANCELLING":
            wanted = {"type": "CANCELLED", "name": "Cancelled"}
        run["state"] = {**wanted, "message": ""}
        return 201, {"status": "ACCEPT", "state": run["state"]}

    def _create(self, deployment_id: str, body: dict[str, Any]) -> tuple[int, object]:
        if deployment_id not in self.deployments.values():
            return 404, {"detail": "Deployment not found"}
        if self.refuse_creation is not None:
            status, detail = self.refuse_creation
            return status, {"detail": detail}
        key = body.get("idempotency_key")
        for run in self.runs.values():
            if key is not None and run["idempotency_key"] == key:
                return 200, run
        run = {
            "id": str(uuid.uuid4()),
            "name": body.get("name", "a-name"),
            "parameters": body.get("parameters", {}),
            "tags": body.get("tags", []),
            "idempotency_key": body.get("idempotency_key"),
            "state": {"type": self.begins_as, "name": self.begins_as.capitalize(), "message": ""},
        }
        self.runs[run["id"]] = run
        return 201, run

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one segment: the second of two would wait for an ACK

            def _serve(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                with fake._lock:
                    fake.calls.append((self.command, self.path))
                    if fake.away:
                        self.close_connection = True
                        return
                    status, answer = self._answer(body)
                    if self.command == "POST" and status < 300 and fake.unheard > 0:
                        fake.unheard -= 1
                        self.close_connection = True
                        return
                content = json.dumps(answer).encode()
                self.send_response(status)
                if fake.retry_after is not None and status == fake.busy_status:
                    self.send_header("retry-after", fake.retry_after)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def _answer(self, body: dict[str, Any]) -> tuple[int, object]:
                wanted = "Basic " + b64encode(fake.auth.encode()).decode()
                if fake.auth and self.headers.get("authorization") != wanted:
                    return 401, {"exception_message": "Unauthorized"}
                if fake.busy > 0 and fake.busy_at in self.path:
                    fake.busy -= 1
                    return fake.busy_status, {"exception_message": "Service Unavailable"}
                return fake.answer(self.command, self.path, body)

            do_GET = do_POST = _serve  # noqa: N815  the base class calls them so

            def log_message(self, *_: object) -> None:
                pass

        return Handler
