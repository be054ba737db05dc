"""How captures end: every fault with its right name, inside its budget, and the next capture works."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.fakes.ports import free_port
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import END_S, CaptureServer, request, script, until
from tests.site.fixture import FixtureSite
from tests.site.wire import Request, Response, html

pytestmark = pytest.mark.browser


@pytest.fixture
def works_after(server: CaptureServer, site: FixtureSite) -> Iterator[None]:
    """Whatever happened in the test, the next capture succeeds."""
    yield
    assert_works(server, site)


def assert_works(server: CaptureServer, site: FixtureSite) -> None:
    """A hasty one has a few tries: a loaded machine may use up its budgets."""
    assert until(lambda: server.capture(site.url(2, "/zoo/landed"))["status"] == "success")


def test_error_status_has_manifest_but_no_artifacts(
    server: CaptureServer, site: FixtureSite, works_after: None
) -> None:
    report = server.capture(site.url(0, "/status/404"), "wacz", "html", correlationId="c1.p1.1.1")
    assert report["status"] == "http_error"
    assert report["httpStatusCode"] == 404
    assert report["artifacts"] == {}
    assert report["errorDetails"]["type"] == "http"
    assert not [path for path in server.store.rglob(f"{report['taskId']}*") if not path.name.endswith(".result.json")]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_passed_on(server: CaptureServer, site: FixtureSite, status: int) -> None:
    report = server.capture(site.url(0, f"/retry-after?seconds=7&status={status}&always"))
    assert report["status"] == "http_error"
    assert report["retryAfterMs"] == 7000


def test_refused_connection_fails_as_connection(server: CaptureServer, works_after: None) -> None:
    report = server.capture(f"http://127.0.0.1:{free_port()}/")
    assert report["status"] == "failed"
    assert report["errorDetails"]["type"] == "connection"
    assert "ERR_CONNECTION_REFUSED" in report["errorDetails"]["message"]


@pytest.mark.parametrize(
    ("path", "kind"), [("/drop", "connection"), ("/redirect/loop", "http"), ("/status/204", "http")]
)
def test_page_that_does_not_come_names_its_fault(
    server: CaptureServer, site: FixtureSite, path: str, kind: str
) -> None:
    report = server.capture(site.url(0, path))
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", kind)
    assert report["artifacts"] == {}


def test_page_that_leads_to_a_dead_host_is_no_success(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, f"/zoo/redirect/location?to=http://127.0.0.1:{free_port()}/"))
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "connection")
    assert "ERR_CONNECTION_REFUSED" in report["errorDetails"]["message"]


def test_blocked_main_thread_ends_within_its_budget(hasty: CaptureServer, site: FixtureSite) -> None:
    started = time.monotonic()
    report = hasty.capture(site.url(0, "/block?ms=60000"))
    assert report["status"] == "timeout"
    assert report["errorDetails"]["timeoutMs"] == 1500
    assert time.monotonic() - started < 50, "the page was waited for until its thread was free"
    assert_works(hasty, site)


def test_hanging_sub_resource_is_waited_for_only_so_long(
    server: CaptureServer, site: FixtureSite, works_after: None
) -> None:
    site.set("/hangs", html("<!doctype html><title>h</title><img src='/stall/silent'><p>there"))
    report = server.capture(site.url(0, "/hangs"))
    assert report["status"] == "success"
    assert report["settle"]["outcome"] == "max"
    assert report["settle"]["pendingRequests"] == 1


@pytest.mark.parametrize(("kind", "outcome"), [("dom", "max"), ("hanging", "max"), ("error", "quiet")])
def test_settle_tells_whether_the_page_came_to_rest(
    server: CaptureServer, site: FixtureSite, kind: str, outcome: str
) -> None:
    wait = {"minMs": 0, "maxMs": 1200 if outcome == "max" else 20_000, "quietMs": 200, "networkConcurrency": 0}
    report = server.capture(site.url(0, f"/zoo/restless/{kind}"), loadWait=wait)
    assert report["status"] == "success"
    assert report["settle"]["outcome"] == outcome


def test_allowed_connection_does_not_hold_the_page(server: CaptureServer, site: FixtureSite) -> None:
    wait = {"minMs": 0, "maxMs": 20_000, "quietMs": 200, "networkConcurrency": 1}
    report = server.capture(site.url(0, "/zoo/restless/hanging"), loadWait=wait)
    assert report["settle"]["outcome"] == "quiet"


@pytest.mark.parametrize("kind", ["alert", "confirm", "prompt", "unload", "popup", "print"])
def test_dialogs_hold_nothing(server: CaptureServer, site: FixtureSite, kind: str) -> None:
    assert server.capture(site.url(0, f"/zoo/dialog/{kind}"))["status"] == "success"


def test_crashed_renderer_is_internal(server: CaptureServer, site: FixtureSite, works_after: None) -> None:
    site.set("/crash", html("<!doctype html><title>c</title><script>onload = () => fetch('/shown')</script>"))
    renderers = "--type=renderer"

    def kill_renderers() -> None:
        site.wait_until(lambda log: any(entry.bare_path == "/shown" for entry in log))  # minMs holds the capture open
        for process in server.descendants():
            if renderers in process.cmdline():
                process.kill()

    site.clear_log()
    killer = threading.Thread(target=kill_renderers)
    killer.start()
    wait = {"minMs": 40_000, "maxMs": 40_000, "quietMs": 0, "networkConcurrency": 0}
    started = time.monotonic()
    report = server.capture(site.url(0, "/crash"), loadWait=wait)
    killer.join()
    assert report["errorDetails"]["type"] == "internal"
    assert "crashed" in report["errorDetails"]["message"]
    assert time.monotonic() - started < 40, "the page was waited for after its death"


def test_killed_browser_is_internal_and_replaced(server: CaptureServer, site: FixtureSite, works_after: None) -> None:
    before = server.browser().pid

    def kill_browser() -> None:
        site.wait_until(lambda log: any(entry.bare_path == "/stall/silent" for entry in log))
        os.kill(before, signal.SIGKILL)

    site.clear_log()
    killer = threading.Thread(target=kill_browser)
    killer.start()
    report = server.capture(site.url(0, "/stall/silent"))
    killer.join()
    assert report["status"] == "failed"
    assert report["errorDetails"]["type"] == "internal"
    assert "died" in report["errorDetails"]["message"]
    assert not alive(psutil.Process(before)) if psutil.pid_exists(before) else True


def in_background(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_second_capture_at_once_is_busy(server: CaptureServer, site: FixtureSite, works_after: None) -> None:
    let_go = threading.Event()

    async def held(_: Request) -> Response:
        await asyncio.to_thread(let_go.wait, END_S)
        return html("<!doctype html><title>let go</title>")

    site.set("/held", held)
    site.clear_log()
    first: list[httpx.Response] = []
    thread = in_background(lambda: first.append(server.post(request(site.url(0, "/held")))))
    try:
        assert site.wait_until(bool)
        assert server.get("/status").json()["busy"] is True
        second = server.post(request(site.url(1, "/zoo/landed")))
    finally:
        let_go.set()
        thread.join()
    assert second.status_code == 429
    assert second.headers["x-amzn-errortype"] == "Busy"
    assert first[0].json()["report"]["status"] == "success"
    assert server.get("/status").json()["busy"] is False


def test_caller_that_hangs_up_cancels(server: CaptureServer, site: FixtureSite, works_after: None) -> None:
    site.clear_log()
    host, port = server.url.removeprefix("http://").split(":")
    body = json.dumps(request(site.url(0, "/stall/silent"), correlationId="c9.p9.1.1")).encode()
    head = f"POST /captures HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection((host, int(port))) as caller:
        caller.sendall(head + body)
        assert site.wait_until(bool, 60)

    def told() -> list[dict[str, Any]]:
        return [item for item in server.manifests() if item.get("correlationId") == "c9.p9.1.1"]

    assert until(lambda: bool(told()))
    assert told()[0]["status"] == "failed"
    assert told()[0]["errorDetails"]["type"] == "cancelled"
    assert until(lambda: server.get("/status").json()["busy"] is False)
    assert until(lambda: all(entry.finished_s is not None for entry in site.log))


def test_sigterm_cancels_and_leaves_no_process(store: Path, site: FixtureSite) -> None:
    with CaptureServer(store, **QUICK) as server:
        site.clear_log()
        answers: list[dict[str, Any]] = []
        thread = in_background(lambda: answers.append(server.post(request(site.url(0, "/stall/silent"))).json()))
        assert site.wait_until(bool, 60)
        children = server.descendants()
        assert children
        server.end()
        thread.join()
        assert server.process.returncode == 0, "it had to be killed"
    assert answers[0]["report"]["errorDetails"]["type"] == "cancelled"
    assert until(lambda: not any(alive(process) for process in children))
    assert not list(store.glob(".part-*"))


@pytest.mark.parametrize("frozen", [False, True])
def test_killed_server_leaves_no_process(store: Path, site: FixtureSite, frozen: bool) -> None:
    with CaptureServer(store, **QUICK) as server:
        site.clear_log()
        site.set("/spin", html("<!doctype html><script>setTimeout(() => { while (true); }, 0)</script>"))

        def ask() -> None:
            with pytest.raises(httpx.HTTPError):
                server.post(request(site.url(0, "/spin")))

        thread = in_background(ask)
        assert site.wait_until(bool, 60)
        children = server.descendants()
        assert len(children) > 1
        if frozen:
            server.browser().suspend()
        server.process.kill()
        server.process.wait(END_S)
        thread.join()
    assert until(lambda: not any(alive(process) for process in children))


def test_frozen_browser_is_replaced_before_the_next_capture(
    server: CaptureServer, site: FixtureSite, works_after: None
) -> None:
    frozen = server.browser()
    frozen.suspend()
    assert server.capture(site.url(0, "/zoo/landed"))["status"] == "success"
    assert not alive(frozen)


@pytest.mark.parametrize("path", ["/stall/silent", "/stall/body?bytes=60"])
def test_dead_network_service_is_internal_and_the_browser_replaced(
    server: CaptureServer, site: FixtureSite, works_after: None, path: str
) -> None:
    before = server.browser()

    def kill_service() -> None:
        site.wait_until(bool)
        for process in server.descendants():
            with contextlib.suppress(psutil.NoSuchProcess):  # others come and go meanwhile
                if any("NetworkService" in part for part in process.cmdline()):
                    process.kill()

    site.clear_log()
    killer = in_background(kill_service)
    report = server.capture(site.url(0, path))
    killer.join()
    assert report["errorDetails"]["type"] == "internal"
    assert server.capture(site.url(0, "/zoo/landed"))["completeness"]["complete"] is True
    assert not alive(before)


def alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_browser_is_replaced_after_so_many_captures(store: Path, site: FixtureSite) -> None:
    with CaptureServer(store, **QUICK, CAPTURE_RECYCLE_CAPTURES="2") as server:
        pids = []
        for _ in range(4):
            assert server.capture(site.url(0, "/zoo/landed"), "html")["status"] == "success"
            pids.append(server.browser().pid)
    assert len(set(pids)) >= 2


def test_endless_preload_ends_within_its_budget(hasty: CaptureServer, site: FixtureSite) -> None:
    report = hasty.capture(site.url(0, "/zoo/landed"), preload=[script("spin", "while (true);")])
    assert report["status"] == "timeout"
