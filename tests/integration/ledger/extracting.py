"""Programs, captures with HTML, and the calls of a flow run that extracts, for tests of the ledger's side."""

from typing import Any

from tests.fakes.extractor_programs import program
from tests.integration.ledger.desk import Desk, Json, wait_until
from tests.integration.ledger.stored import into, store


def add(desk: Desk, ident: str = "facts", source: str | None = None, status: int = 201, **more: Any) -> Json:
    """An extractor in the catalogue."""
    return desk.post("/api/extractors", {"id": ident, "source": source or program(ident), **more}, status)


def pin(ident: str = "facts", pattern: str = ".", **more: Any) -> Json:
    return {"id": ident, "urlPattern": pattern, **more}


def capture_level(desk: Desk, crawl_id: str, depth: int = 0, links: list[str] | None = None, **change: Any) -> Json:
    """Every page of the level captured with HTML, and the level closed; the closing's answer."""
    order = desk.order(crawl_id, depth)
    for page in order["frontier"]:
        html = f"<title>{page['url']}</title>"
        one = store(into(desk.root), crawl_id, page, attempt=order["attempt"], links=links, **{"html": html, **change})
        desk.report(crawl_id, [one.result], depth)
    return desk.close(crawl_id, depth)


def dispatched(desk: Desk, crawl_id: str, number: int = 1) -> str:
    """The flow run of the crawl's extraction, once Prefect has it and the ledger knows."""
    found: list[str] = []

    def there() -> bool:
        run = desk.prefect.run_of(f"extract:{crawl_id}:{number}")
        known = desk.crawl(crawl_id)["extraction"].get("runId")
        if run is not None and known == run["id"]:
            found.append(run["id"])
        return bool(found)

    wait_until(there, f"extraction {number} of {crawl_id} is dispatched", 60)
    return found[0]


def order(desk: Desk, crawl_id: str, run_id: str, number: int = 1, status: int = 200) -> Json:
    return desk.post(f"/api/crawls/{crawl_id}/extractions/orders", {"number": number, "runId": run_id}, status)


def report(desk: Desk, crawl_id: str, run_id: str, results: list[Json], number: int = 1, status: int = 200) -> Json:
    body = {"number": number, "runId": run_id, "results": results}
    return desk.post(f"/api/crawls/{crawl_id}/extractions/results", body, status)


def good(page: Json, ident: str = "facts", **more: Any) -> Json:
    """What a run says of a page whose program gave something."""
    return {"pageId": page["pageId"], "extractor": ident, "value": {"title": page["url"]}, **more}


def bad(page: Json, ident: str = "facts", code: str = "E_TIMEOUT") -> Json:
    return {"pageId": page["pageId"], "extractor": ident, "error": {"code": code, "message": "not done after 10 s"}}
