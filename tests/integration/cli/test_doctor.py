"""What the doctor says of services that are not as they should be, and of a data folder that is not private."""

import http.server
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from rich.console import Console

from blocks.capture_endpoints import CaptureEndpoints
from blocks.ledger_connection import LedgerConnection
from blocks.load import ComityBlocks
from blocks.script_compiler import ScriptCompiler
from comity.cli.data_folder import DataFolder
from comity.cli.doctor.command import render_links
from comity.cli.doctor.crawls import look_at_crawls
from comity.cli.doctor.machine import look_at_machine
from flows.doctor_links import Link, look_at_services
from tests.fakes.http_server import Reply
from tests.fakes.ledger import TOKEN, FakeLedger, crawl_view

NOBODY = "http://127.0.0.1:9"


class Unwilling(http.server.BaseHTTPRequestHandler):
    """Knows no token."""

    def do_GET(self) -> None:
        healthy = self.path == "/healthz"
        body = b'{"ok": true, "version": "1", "typescript": "7", "hostTypes": "h"}' if healthy else b'{"error": "who?"}'
        self.send_response(200 if healthy else 401)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - as http.server looks it up

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def unwilling() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unwilling) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def blocks_at(url: str) -> ComityBlocks:
    token = SecretStr("wrong")
    return ComityBlocks(
        ledger=LedgerConnection(url=url, token=token, trigger_token=token, tls_ca_pem=""),
        endpoints=CaptureEndpoints(urls=[url], token=token, tls_ca_pem=""),
        compiler=ScriptCompiler(url=url, token=token, tls_ca_pem=""),
    )


def test_dead_services_are_each_named_with_what_to_start() -> None:
    links = look_at_services(blocks_at(NOBODY))
    assert [link.ok for link in links] == [False, False, False]
    assert [link.fix.split(",")[0] for link in links] == [
        "start the ledger",
        "start the compiler",
        "start the capture server",
    ]


def test_a_wrong_token_is_told_from_a_dead_service(unwilling: str) -> None:
    links = look_at_services(blocks_at(unwilling))
    assert [link.ok for link in links] == [False, False, False]
    assert all("the token in the Block is not the" in link.fix for link in links)


def test_a_crawl_whose_run_died_is_told_and_no_fault() -> None:
    died = {"depth": 0, "attempt": 1, "ended": "crashed", "reason": "[run] killed", "at": "2030-01-01T00:00:00Z"}
    run = {"id": "r2", "depth": 0, "attempt": 2}
    crawls = [
        crawl_view("running", id="c1", attempts=[died], lastRun=run),
        crawl_view("running", id="c2", lastRun={**run, "attempt": 1}),
        crawl_view("succeeded", id="c3", attempts=[died], lastRun=run),
    ]
    with FakeLedger() as ledger:
        ledger.answers["GET /crawls"] = lambda _: Reply(200, {"crawls": crawls})
        blocks = replace(
            blocks_at(NOBODY),
            ledger=LedgerConnection(
                url=ledger.url, token=SecretStr("flows"), trigger_token=SecretStr(TOKEN), tls_ca_pem=""
            ),
        )
        [link] = look_at_crawls(blocks)
    assert (link.name, link.ok) == ("crawl c1", True)
    assert link.said == "level 0: attempt 2 after: [run] killed (crashed)"
    assert look_at_crawls(blocks_at(NOBODY)) == []  # that link is looked at already


def test_a_secret_that_others_may_read_is_named_with_the_command(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    data.create()
    for name in ("prefect", "capture", "compiler"):
        data.secret(name)
    (data.ledger / "tokens").mkdir()
    for name in ("flows", "operator", "trigger"):
        data.ledger_token(name).touch(mode=0o600)
    assert by_name(look_at_machine(data), "data folder").ok
    (data.secrets / "prefect").chmod(0o644)
    link = by_name(look_at_machine(data), "secret prefect")
    assert not link.ok
    assert link.fix == f"chmod 600 {data.secrets / 'prefect'}"


def by_name(links: list[Link], name: str) -> Link:
    return next(link for link in links if link.name == name)


def test_only_failed_links_show_their_fix() -> None:
    console = Console(width=100)
    with console.capture() as shown:
        console.print(render_links([Link("a", True, "fine", "fix a"), Link("b", False, "dead", "fix b")]))
    assert "fix a" not in shown.get()
    assert "fix: fix b" in shown.get()
    assert "1 of 2 links failed" in shown.get()
