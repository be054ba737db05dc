"""Traces as a collector receives them: OTLP over HTTP, read as protobuf."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from comity.contract.watch import WatchSettings, WholePage
from comity.watch.tracing import TraceSettings
from tests.fakes.watch_queue import FakeQueue
from tests.integration.watch.conftest import plan_for, visit_all
from tests.site import FixtureSite
from tests.site.changing import ChangingPage
from tests.site.wire import Response

WHOLE = WatchSettings(watched=WholePage())


class Collector(ThreadingHTTPServer):
    """Takes traces, as `POST /v1/traces`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1/traces"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        order = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
        for resource in order.resource_spans:
            named = {one.key: one.value.string_value for one in resource.resource.attributes}
            self.server.services.add(named["service.name"])
            self.server.spans += [span for scope in resource.scope_spans for span in scope.spans]
        body = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it so
        pass


@contextmanager
def collecting() -> Iterator[Collector]:
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


def facts(span: Span) -> dict[str, str]:
    return {one.key: one.value.string_value for one in span.attributes}


async def test_trace_of_a_page_reaches_the_collector_with_its_steps(site: FixtureSite) -> None:
    site.set("/page", ChangingPage(("one", "two"), counter=True), host=0)
    queue = FakeQueue()
    page = queue.add(site.url(0, "/page"), WHOLE)
    with collecting() as collector:
        plan = replace(plan_for(site), tracing=TraceSettings(collector.url, sampled=1.0))
        await visit_all(queue, plan)
        queue.due_again(page)
        await visit_all(queue, plan)

    [first, second] = [span for span in collector.spans if span.name == "page"]
    steps = [span for span in collector.spans if span.parent_span_id == second.span_id]
    assert collector.services == {"comity-watch"}
    assert facts(first)["comity.outcome"] == "first"
    assert facts(second)["url.full"] == site.url(0, "/page")
    assert [span.name for span in sorted(steps, key=lambda one: one.start_time_unix_nano)] == [
        *("robots", "fetch", "read", "content", "diff"),
    ]
    assert all(span.trace_id == second.trace_id for span in steps)
    assert all(second.start_time_unix_nano <= one.start_time_unix_nano <= one.end_time_unix_nano for one in steps)
    assert max(one.end_time_unix_nano for one in steps) <= second.end_time_unix_nano


async def test_errors_slow_pages_and_canaries_are_kept_and_the_rest_is_sampled(site: FixtureSite) -> None:
    site.set("/fine", ChangingPage(("one",)), host=0)
    site.set("/bad", Response(status=500), host=1)
    site.set("/canary", ChangingPage(("one",)), host=2)
    site.set("/slow", Response(body=b"<p>slow", delay_ms=700), host=3)
    queue = FakeQueue()
    for host, path in enumerate(("/fine", "/bad", "/canary", "/slow")):
        canary = "new" if path == "/canary" else None
        queue.add(site.url(host, path), WatchSettings(watched=WholePage(), canary=canary))
    with collecting() as collector:
        plan = replace(plan_for(site), tracing=TraceSettings(collector.url, sampled=0.0, slow_ms=1_300))
        await visit_all(queue, plan)

    kept = {facts(span)["url.full"].rpartition("/")[2] for span in collector.spans if span.name == "page"}
    assert kept >= {"bad", "canary", "slow"}
