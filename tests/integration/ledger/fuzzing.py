"""Draw calls from the ledger's own OpenAPI and make them: what must hold for each, whatever was sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.schemas import BaseSchema
from sqlalchemy import func, select

from ledger.rules.rights import RIGHTS
from ledger.store.models import Base
from tests.integration.ledger.desk import Desk, Json

HOST = "127.0.0.2:8000"
SITE = f"http://{HOST}"
UNDESCRIBED = {"/api/openapi.json"}
FUZZED = sorted(
    (method, path) for method, path in RIGHTS if method not in ("HEAD", "OPTIONS") and path not in UNDESCRIBED
)
"""Every call that the schema describes."""
EVIDENCE = {"stale_report", "host", "host_lease"}
"""What a refusal (409) of a run may leave: its words where it is no longer current, and who waits for a host."""
OFFERED_BY_SETTING = {("PUT", "/api/sink/{crawl_id}/{filename}"): 501}
STREAM = "/events"


@dataclass(frozen=True)
class Range:
    """A ledger to be fuzzed, with a row of each kind that calls can be aimed at."""

    desk: Desk
    known: Mapping[str, str]
    """Rows by the name of the path parameter."""

    @cached_property
    def schema(self) -> BaseSchema:
        """The ledger's own description of itself."""
        return schemathesis.openapi.from_dict(self.desk.get("/api/openapi.json"))

    def operation(self, method: str, path: str) -> APIOperation[Any, Any, Any, Any]:
        return self.schema[path][method]

    def rows(self) -> dict[str, int]:
        with self.desk.parts.store.reading() as tx:
            return {
                table.name: tx.scalar(select(func.count()).select_from(table)) or 0
                for table in Base.metadata.sorted_tables
            }

    def running(self) -> str:
        """The crawl that calls are aimed at; a new one where a call has ended it."""
        for crawl in self.desk.get("/api/crawls")["crawls"]:
            if crawl["state"] == "running":
                return str(crawl["id"])
        return self.desk.start(f"{SITE}/a", f"{SITE}/b")

    def aimed(self, case: Case[Any]) -> Case[Any]:
        """The case at rows that are there, and a report by the run that holds the level."""
        crawl_id = self.running()
        known = {**self.known, "crawl_id": crawl_id, "depth": "0"}
        for name in set(case.path_parameters or ()) & set(known):
            case.path_parameters[name] = known[name]
        if isinstance(case.body, dict):
            self._aim_body(case.body, crawl_id)
        return case

    def _aim_body(self, body: Json, crawl_id: str) -> None:
        """What the schema cannot know of a body that fits: the run, the page, the lease, a host, an address."""
        fence = self.desk.fence(crawl_id)
        there: Json = {**fence, "host": HOST, "leaseId": self.known["lease_id"], "urls": [f"{SITE}/a"]}
        there |= {"seeds": [f"{SITE}/a"], "holder": {"crawlId": crawl_id, **fence}}
        body.update({name: value for name, value in there.items() if name in body})
        for result in body["results"] if isinstance(body.get("results"), list) else []:
            if isinstance(result, dict):
                result |= {"pageId": self.known["archive_id"], "url": f"{SITE}/a"}


def prepared(desk: Desk) -> Range:
    """Rows to aim at."""
    target = desk.post("/api/targets", {"urls": [f"{SITE}/"]}, 201)["targets"][0]["id"]
    token = {"subject": "somebody", "role": "viewer", "organizations": ["default"], "expiresInDays": 1}
    token_id = desk.post("/api/tokens", token, 201)["view"]["id"]
    desk.post("/api/scripts", {"id": "look", "phase": "behavior", "source": "1"}, 201)
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b")
    pages: list[Json] = desk.order(crawl_id)["frontier"]
    captured = desk.captured(crawl_id, pages[0])
    desk.report(crawl_id, [captured])
    holder = {"crawlId": crawl_id, **desk.fence(crawl_id)}
    lease = desk.post("/api/hosts/lease", {"host": HOST, "holder": holder, "delayMs": 0})
    known = {
        "lease_id": lease["leaseId"],
        "target_id": target,
        "token_id": token_id,
        "script_id": "look",
        "archive_id": pages[0]["pageId"],
        "task_id": captured["taskId"],
        "filename": "a.wacz",
    }
    return Range(desk, known)


def fuzz(field: Range, method: str, path: str, examples: int) -> None:
    """So many calls of one kind, each as the schema has it or not, each at rows that are there or not."""
    operation = field.operation(method, path)
    cases = st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE]).flatmap(
        lambda mode: operation.as_strategy(generation_mode=mode)
    )

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, aimed=st.booleans())
    def one(case: Case[Any], aimed: bool) -> None:
        _check(field, field.aimed(case) if aimed else case, (method, path))

    one()


def _check(field: Range, case: Case[Any], call: tuple[str, str]) -> None:
    before = field.rows()
    status, text = _answer(field.desk, case)
    said = f"{case.method} {case.formatted_path}: {status} {text[:500]}"
    assert status < 500 or status == OFFERED_BY_SETTING.get(call), said
    assert "Traceback" not in text, said
    if status >= 400:
        after = field.rows()
        grown = {name for name in after if after[name] != before[name]}
        assert grown <= (EVIDENCE if status == 409 else set()), f"{said} and rows of {grown}"


def _answer(desk: Desk, case: Case[Any]) -> tuple[int, str]:
    """Status and text. Of a stream that is followed, nothing is read: it lasts as long as its crawl."""
    sent = case.as_transport_kwargs(base_url=desk.url)
    names = ("method", "url", "params", "headers", "json", "data", "content", "cookies")
    given = {name: sent[name] for name in names if sent.get(name) is not None}
    if isinstance(given.get("data"), bytes):
        given["content"] = given.pop("data")
    headers = {name: value for name, value in dict(given.pop("headers", {})).items() if name.lower() != "authorization"}
    given.pop("cookies", None)
    try:
        request = desk.client.build_request(**given, headers=headers)
    except (httpx.InvalidURL, UnicodeEncodeError, ValueError, TypeError):
        return 400, "not even the client could write it down"
    answer = desk.client.send(request, stream=True)
    try:
        if answer.status_code == 200 and case.operation.path.endswith(STREAM):
            return 200, ""
        return answer.status_code, answer.read().decode("utf-8", "replace")
    finally:
        answer.close()
