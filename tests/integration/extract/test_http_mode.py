"""Programs that get their page themselves, against real servers on loopback; what was sent is read from their logs."""

import asyncio
import gzip
import threading
from typing import Any

import pytest

from comity.extract.run import USER_AGENT, ExtractOptions, Failure, Program, Result, open_client
from comity.polite.client import GuardedClient, Session
from comity.polite.egress import Egress
from comity.polite.rules.addresses import egress_rules
from tests.integration.extract.programs import TITLE, code_of, titles_of, value_of
from tests.integration.extract.web import Answer, Request, Web, page, redirect

PAGE = page("<h1>Things</h1>")
LOGIN = Session(headers={"Authorization": "Bearer secret", "X-Tenant": "a"}, cookies={"sid": "1"})


def outcome(program: Program, inputs: dict[str, Any] | None = None, **options: Any) -> Result | Failure:
    return program.extract(inputs, ExtractOptions(**{"allow_private_hosts": True, **options}))


def test_one_get_gives_the_value(web: Web) -> None:
    web.pages["/a%2Fb%20%C3%A9/true/-7/0.5?q=%7B"] = PAGE
    program = titles_of(
        f"{web.url}/{{name}}/{{yes}}/{{count}}/{{share}}?q=%7B",
        inputs='input "name" type="string"; input "yes" type="bool"; input "count" type="int"\n'
        ' input "share" type="float" required=#false default=0.5',
    )
    found = outcome(program, {"name": "a/b é", "yes": True, "count": -7})
    assert value_of(found) == {"title": "Things"}
    assert [one.headers["user-agent"] for one in web.asked] == [USER_AGENT]
    assert "cookie" not in web.asked[0].headers


def test_a_caller_may_be_somebody_else_but_never_without_the_token(web: Web) -> None:
    web.pages["/"] = PAGE
    assert value_of(outcome(titles_of(web.url + "/"), user_agent="comity/1 example.org"))
    assert web.asked[0].headers["user-agent"] == "comity/1 example.org"
    assert code_of(outcome(titles_of(web.url + "/"), user_agent="Mozilla/5.0")) == "E_HTTP_REQUEST"
    assert (
        code_of(outcome(titles_of(web.url + "/", session="required"), session=Session({"a\n": "b"})))
        == "E_HTTP_REQUEST"
    )
    assert len(web.asked) == 1


async def test_the_same_inside_of_an_event_loop(web: Web) -> None:
    web.pages["/"] = PAGE
    program = titles_of(web.url + "/")
    async with open_client(allow_private_hosts=True) as client:
        options = ExtractOptions(client=client)
        found = await asyncio.gather(*(program.extract_async(None, options) for _ in range(5)))
    assert [value_of(one) for one in found] == [{"title": "Things"}] * 5
    with pytest.raises(RuntimeError, match="await extract_async"):
        program.extract()
    with pytest.raises(RuntimeError, match="a client has another"):
        await asyncio.to_thread(program.extract, None, options)


BEFORE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "unknown input": ({"id": 1, "x": 1}, {}, "E_INPUT_UNKNOWN"),
    "no input": ({}, {}, "E_INPUT_REQUIRED"),
    "input of another type": ({"id": "1"}, {}, "E_INPUT_TYPE"),
    "private host": ({"id": 1}, {"allow_private_hosts": False}, "E_URL_POLICY"),
}


@pytest.mark.parametrize(("inputs", "options", "code"), BEFORE.values(), ids=BEFORE)
def test_what_cannot_work_is_refused_and_nothing_is_sent(
    web: Web, inputs: dict[str, Any], options: dict[str, Any], code: str
) -> None:
    program = titles_of(f"{web.url}/{{id}}", inputs='input "id" type="int"')
    assert code_of(outcome(program, inputs, **options)) == code
    assert web.asked == []


def test_a_missing_host_function_is_told_before_anything_else(web: Web) -> None:
    member = 'field "title" type="string" required=#true { select "h1"; value "text"; apply "shout" }'
    shout = 'transform "shout" input="string" output="string" { external symbol="shout" }'
    program = titles_of(f"{web.url}/{{id}}", inputs=f'input "id" type="int"\n{shout}', members=member)
    assert code_of(outcome(program, {})) == "E_EXTERNAL_TRANSFORM_MISSING"
    assert web.asked == []
    web.pages["/1"] = PAGE
    assert value_of(outcome(program, {"id": 1}, external_transforms={"shout": str.upper})) == {"title": "THINGS"}


@pytest.mark.parametrize(
    ("url", "code"),
    [("http://{host}/", "E_URL_INVALID"), ("http://user:pass@127.0.0.1/?{host}", "E_URL_POLICY")],
)
def test_an_address_that_is_none_is_refused(url: str, code: str) -> None:
    program = titles_of(url, inputs='input "host" type="string"')
    assert code_of(outcome(program, {"host": "a b"})) == code


def test_a_session_goes_with_the_first_request_only(web: Web, other_web: Web) -> None:
    web.pages["/"] = redirect("/moved")
    web.pages["/moved"] = redirect(f"{other_web.url}/there")
    other_web.pages["/there"] = PAGE
    assert value_of(outcome(titles_of(web.url + "/", session="required"), session=LOGIN)) == {"title": "Things"}
    first, second = (one.headers for one in web.asked)
    assert (first["authorization"], first["x-tenant"], first["cookie"]) == ("Bearer secret", "a", "sid=1")
    assert (second["authorization"], second["cookie"]) == ("Bearer secret", "sid=1")
    assert "x-tenant" not in second
    assert not {"authorization", "cookie", "x-tenant"} & set(other_web.asked[0].headers)


@pytest.mark.parametrize("session", ["", "none"])
def test_a_program_without_a_session_ignores_one(web: Web, session: str) -> None:
    web.pages["/"] = PAGE
    assert value_of(outcome(titles_of(web.url + "/", session=session), session=LOGIN))
    assert not {"authorization", "cookie", "x-tenant"} & set(web.asked[0].headers)


def test_an_optional_session_is_used_where_there_is_one(web: Web) -> None:
    web.pages["/"] = PAGE
    program = titles_of(web.url + "/", session="optional")
    assert value_of(outcome(program))
    assert value_of(outcome(program, session=LOGIN))
    assert [one.headers.get("cookie") for one in web.asked] == [None, "sid=1"]


@pytest.mark.parametrize("session", [None, Session()])
def test_a_required_session_is_asked_for_before_anything_is_sent(web: Web, session: Session | None) -> None:
    found = outcome(titles_of(web.url + "/", session="required"), session=session)
    assert isinstance(found, Failure)
    assert (found.code, found.path) == ("E_SESSION_REQUIRED", "source.session")
    assert web.asked == []


@pytest.mark.parametrize("status", [200, 206, 299])
def test_any_2xx_is_a_page(web: Web, status: int) -> None:
    web.pages["/"] = page("<h1>Things</h1>", status=status)
    assert value_of(outcome(titles_of(web.url + "/"))) == {"title": "Things"}


@pytest.mark.parametrize("status", [304, 404, 429, 500])
def test_any_other_status_is_none(web: Web, status: int) -> None:
    web.pages["/"] = Answer(b"" if status == 304 else b"<h1>Things</h1>", status=status)
    found = outcome(titles_of(web.url + "/"))
    assert code_of(found) == "E_HTTP_STATUS"
    assert str(status) in str(found)


async def test_a_redirect_is_judged_like_the_first_address(web: Web, other_web: Web) -> None:
    web.pages["/"] = redirect(f"{other_web.url}/")
    other_web.pages["/"] = PAGE
    async with GuardedClient(Egress(egress_rules(web.authority))) as client:
        for hook in (None, lambda _, __: None):  # which opens nothing that is closed
            options = ExtractOptions(client=client, on_redirect=hook)
            assert code_of(await titles_of(web.url + "/").extract_async(None, options)) == "E_URL_POLICY"
    assert (web.paths, other_web.asked) == (["/", "/"], [])


def test_a_hook_may_refuse_a_redirect_that_the_policy_allows(web: Web) -> None:
    asked: list[tuple[str, str]] = []

    def hook(here: str, there: str) -> str | None:
        asked.append((here, there))
        return "not there" if there.endswith("/no") else None

    web.pages |= {"/": redirect("/on"), "/on": PAGE, "/wrong": redirect("/no"), "/no": PAGE}
    assert value_of(outcome(titles_of(web.url + "/"), on_redirect=hook))
    assert code_of(outcome(titles_of(web.url + "/wrong"), on_redirect=hook)) == "E_URL_POLICY"
    assert asked == [(f"{web.url}/", f"{web.url}/on"), (f"{web.url}/wrong", f"{web.url}/no")]
    assert web.paths == ["/", "/on", "/wrong"]


def test_a_hook_is_asked_after_the_policy(web: Web) -> None:
    asked: list[str] = []
    web.pages["/"] = redirect("http://169.254.169.254/latest")  # which nothing opens
    found = outcome(titles_of(web.url + "/"), on_redirect=lambda _, there: asked.append(there))
    assert code_of(found) == "E_URL_POLICY"
    assert asked == []


@pytest.mark.parametrize(
    "body",
    [Answer(b"<h1>" + b"x" * 2000), Answer(gzip.compress(b"x" * 1_000_000), headers={"content-encoding": "gzip"})],
    ids=["as it is", "unpacked"],
)
def test_a_page_over_the_limit_is_refused(web: Web, body: Answer) -> None:
    web.pages["/"] = body
    assert code_of(outcome(titles_of(web.url + "/"), max_page_bytes=1500)) == "E_HTTP_BODY_TOO_LARGE"


def test_a_page_that_breaks_off_is_none(web: Web) -> None:
    web.pages["/"] = Answer(b"<h1>Things</h1>", declared_bytes=1000)
    assert code_of(outcome(titles_of(web.url + "/"))) == "E_HTTP_READ"


def test_a_server_that_is_not_there_is_told(web: Web) -> None:
    assert code_of(outcome(titles_of("http://127.0.0.1:9/"))) == "E_HTTP_FETCH"


def test_a_page_that_does_not_come_in_time_is_given_up(web: Web) -> None:
    web.pages["/"] = page("<h1>Things</h1>", wait_s=3)
    assert code_of(outcome(titles_of(web.url + "/"), timeout_s=0.5)) == "E_TIMEOUT"


def test_what_is_cancelled_before_it_begins_sends_nothing(web: Web) -> None:
    web.pages["/"] = PAGE
    stop = threading.Event()
    stop.set()
    assert code_of(outcome(titles_of(web.url + "/"), cancellation=stop)) == "E_EXECUTION_CANCELED"
    assert web.asked == []


def test_a_cancelled_wait_ends(web: Web) -> None:
    stop = threading.Event()

    def answer(_: Request) -> Answer:
        stop.set()
        return page("<h1>Things</h1>", wait_s=3)

    web.pages["/"] = answer
    assert code_of(outcome(titles_of(web.url + "/"), cancellation=stop)) == "E_EXECUTION_CANCELED"


@pytest.mark.parametrize(
    ("content_type", "body", "title"),
    [
        ("text/html; charset=shift_jis", "<h1>日本</h1>".encode("shift_jis"), "日本"),
        (None, "<meta charset=euc-jp><h1>日本</h1>".encode("euc_jp"), "日本"),
        ("text/html; charset=shift_jis", b"\xef\xbb\xbf" + "<h1>日本</h1>".encode(), "日本"),
        ("text/html", "<h1>é</h1>".encode(), "é"),
    ],
)
def test_the_header_the_mark_and_the_page_say_its_charset(
    web: Web, content_type: str | None, body: bytes, title: str
) -> None:
    web.pages["/"] = Answer(body, content_type)
    assert value_of(outcome(titles_of(web.url + "/"))) == {"title": title}


@pytest.mark.parametrize(
    ("content_type", "code"),
    [("text/html; charset=utf-8", "E_HTML_DECODE"), ("a/b; charset=x-no", "E_HTML_CHARSET_UNSUPPORTED")],
)
def test_bytes_that_are_no_text_are_told(web: Web, content_type: str, code: str) -> None:
    web.pages["/"] = Answer(b"<h1>\xff</h1>", content_type)
    assert code_of(outcome(titles_of(web.url + "/"))) == code


def test_a_page_without_the_value_is_told_by_its_path(web: Web) -> None:
    web.pages["/"] = page("<p>no heading</p>")
    found = outcome(titles_of(web.url + "/"))
    assert isinstance(found, Failure)
    assert (found.code, found.path) == ("E_REQUIRED_VALUE_MISSING", "output.title")


def test_a_cancelled_task_stops_reading(web: Web) -> None:
    web.pages["/"] = page("<i></i>" * 2000 + "<h1>x</h1>")
    rows = 'collection "rows" { select "i"; field "n" type="int" required=#true { value "text"; apply "slow" } }'
    slow = 'transform "slow" input="string" output="int" { external symbol="slow" }'
    calls: list[str] = []
    began = threading.Event()

    def host(text: str) -> int:
        calls.append(text)
        began.set()
        threading.Event().wait(0.01)
        return 1

    async def begin_and_cancel() -> None:
        program = titles_of(web.url + "/", inputs=slow, members=f"{TITLE}\n{rows}")
        options = ExtractOptions(allow_private_hosts=True, external_transforms={"slow": host})
        task = asyncio.create_task(program.extract_async(None, options))
        assert await asyncio.to_thread(began.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_cancel())  # which ends when the thread that reads has ended
    assert 0 < len(calls) < 2000
