"""Programs whose page needs a browser: a real capture server with a real one loads it, and we read what it kept."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blocks.clients.capture import CaptureClient
from comity.cli.extraction.browsing import CapturedPages
from comity.extract.run import ExtractOptions, Failure, Program, Result
from comity.polite.client import Session
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.folder import Folder
from tests.integration.capture.server import CaptureServer
from tests.integration.extract.programs import code_of, titles_of, value_of
from tests.integration.extract.web import Answer, Web, page, redirect

pytestmark = pytest.mark.browser

WRITTEN = "<h1></h1><script>document.querySelector('h1').textContent = 'Written ' + 1</script>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureServer]:
    with CaptureServer(tmp_path_factory.mktemp("capture") / "store") as running:
        yield running


@pytest.fixture
def pages(server: CaptureServer) -> Iterator[CapturedPages]:
    with CaptureClient(server.url, "", "") as client:
        yield CapturedPages([client], Artifacts([Folder(server.store)]))


def outcome(program: Program, pages: CapturedPages | None, **options: Any) -> Result | Failure:
    return program.extract(
        None, ExtractOptions(**{"browser": pages, "allow_private_hosts": True, "timeout_s": 120, **options})
    )


def test_a_page_is_read_as_its_scripts_made_it(web: Web, pages: CapturedPages) -> None:
    web.pages["/"] = page(WRITTEN)
    assert value_of(outcome(titles_of(web.url + "/", mode="browser"), pages)) == {"title": "Written 1"}
    assert [path for path in web.paths if path != "/favicon.ico"] == ["/"]
    assert value_of(outcome(titles_of(web.url + "/"), pages)) == {"title": ""}  # HTTP mode runs no script


def test_another_charset_is_read_right(web: Web, pages: CapturedPages) -> None:
    web.pages["/"] = Answer("<meta charset=shift_jis><h1>日本</h1>".encode("shift_jis"), "text/html")
    assert value_of(outcome(titles_of(web.url + "/", mode="browser"), pages)) == {"title": "日本"}


def test_a_page_that_does_not_answer_well_is_told(web: Web, pages: CapturedPages) -> None:
    web.pages["/gone"] = page("<h1>Gone</h1>", status=410)
    found = outcome(titles_of(web.url + "/gone", mode="browser"), pages)
    assert code_of(found) == "E_HTTP_STATUS"
    assert code_of(outcome(titles_of("http://127.0.0.1:9/", mode="browser"), pages)) == "E_BROWSER_NAVIGATE"


def test_the_browsers_own_guard_judges_every_address(web: Web, pages: CapturedPages) -> None:
    web.pages["/away"] = redirect("http://10.1.2.3/")
    found = outcome(titles_of(web.url + "/away", mode="browser"), pages)
    assert code_of(found) in ("E_URL_POLICY", "E_BROWSER_NAVIGATE")
    assert "10.1.2.3" in str(found)


SCRIPTED = """field "title" type="string" required=#true {
  evaluate-js "() => document.title" scope="document" returns="string"
}"""
REFUSED: dict[str, tuple[dict[str, str], dict[str, Any], str, str]] = {
    "workflow": ({"workflow": 'workflow { click "#load" }'}, {}, "E_BROWSER_CAPABILITY_MISSING", "browser.input"),
    "JavaScript value": ({"members": SCRIPTED}, {}, "E_BROWSER_CAPABILITY_MISSING", "browser.evaluate-js"),
    "required session": ({"session": "required"}, {}, "E_BROWSER_CAPABILITY_MISSING", "cookies"),
    "session that is given": (
        {"session": "optional"},
        {"session": Session(cookies={"sid": "1"})},
        "E_BROWSER_CAPABILITY_MISSING",
        "cookies",
    ),
    "private host": ({}, {"allow_private_hosts": False}, "E_URL_POLICY", "127.0.0.1"),
    "no browser": ({}, {"browser": None}, "E_BROWSER_RUNTIME_MISSING", "browser"),
}


@pytest.mark.parametrize(("parts", "options", "code", "said"), REFUSED.values(), ids=REFUSED)
def test_what_a_capture_server_cannot_do_is_refused_before_anything_happens(
    web: Web, pages: CapturedPages, parts: dict[str, str], options: dict[str, Any], code: str, said: str
) -> None:
    found = outcome(titles_of(web.url + "/", mode="browser", **parts), pages, **options)
    assert code_of(found) == code
    assert said in str(found)
    assert web.asked == []


def test_a_session_is_ignored_where_the_program_takes_none(web: Web, pages: CapturedPages) -> None:
    web.pages["/"] = page("<h1>Things</h1>")
    login = Session(headers={"Authorization": "Bearer secret"}, cookies={"sid": "1"})
    assert value_of(outcome(titles_of(web.url + "/", mode="browser"), pages, session=login)) == {"title": "Things"}
    assert not {"authorization", "cookie"} & set(web.asked[0].headers)


def test_a_page_that_is_cancelled_is_let_go(web: Web, server: CaptureServer, pages: CapturedPages) -> None:
    stop = threading.Event()

    def slow(_: object) -> Answer:
        stop.set()
        return page("<h1>Late</h1>", wait_s=20)

    web.pages["/"] = slow
    assert (
        code_of(outcome(titles_of(web.url + "/", mode="browser"), pages, cancellation=stop)) == "E_EXECUTION_CANCELED"
    )
    web.pages["/"] = page("<h1>Next</h1>")  # the server is free again at once
    assert value_of(outcome(titles_of(web.url + "/", mode="browser"), pages)) == {"title": "Next"}


async def test_pages_wait_for_a_browser_that_is_at_another(web: Web, pages: CapturedPages) -> None:
    for number in range(3):
        web.pages[f"/{number}"] = page(f"<h1>{number}</h1>")
    options = ExtractOptions(browser=pages, allow_private_hosts=True, timeout_s=120)
    programs = [titles_of(f"{web.url}/{number}", mode="browser") for number in range(3)]
    found = await asyncio.gather(*(program.extract_async(None, options) for program in programs))
    assert [value_of(one) for one in found] == [{"title": str(number)} for number in range(3)]


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with CaptureClient("http://127.0.0.1:9", "", "") as client:
        pages = CapturedPages([client], Artifacts([Folder(tmp_path)]))
        found = outcome(titles_of("http://127.0.0.1:9/", mode="browser"), pages)
    assert code_of(found) == "E_BROWSER_ACQUIRE"


def test_what_was_kept_elsewhere_cannot_be_read(web: Web, server: CaptureServer, tmp_path: Path) -> None:
    web.pages["/"] = page("<h1>Things</h1>")
    with CaptureClient(server.url, "", "") as client:
        pages = CapturedPages([client], Artifacts([Folder(tmp_path)]))
        found = outcome(titles_of(web.url + "/", mode="browser"), pages)
    assert code_of(found) == "E_BROWSER_READ"
