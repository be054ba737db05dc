"""The guarded client against a real site: what is asked, what follows a redirect, and what comes back."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from comity.polite.client import Fetched, FetchFailure, GetLimits, GuardedClient, Session
from comity.polite.egress import Egress
from comity.polite.errors import UserAgentError
from comity.polite.rules.addresses import egress_rules
from tests.site import FixtureSite, Request, Response, redirect, text

NAMES = {"home.example": "127.0.0.2", "sub.home.example": "127.0.0.2", "other.example": "127.0.0.3"}


async def lookup(host: str) -> Sequence[str]:
    if host not in NAMES:
        raise OSError(-2, "Name or service not known")
    return [NAMES[host]]


@pytest.fixture
def site(site: FixtureSite) -> FixtureSite:
    site.set("/page", text("hello"))
    return site


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient(Egress(egress_rules("127.0.0.0/8"), lookup=lookup)) as guarded:
        yield guarded


def named(site: FixtureSite, name: str, path: str = "/page") -> str:
    return f"http://{name}:{site.port}{path}"


def fetched(got: Fetched | FetchFailure) -> Fetched:
    assert isinstance(got, Fetched), got
    return got


def failure(got: Fetched | FetchFailure) -> FetchFailure:
    assert isinstance(got, FetchFailure), got
    assert "\n" not in got.message
    return got


async def test_answer_says_where_it_came_from(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/page", text("héllo", headers=(("X-One", "1"), ("X-One", "2"))))
    got = fetched(await client.get(named(site, "home.example", "/page?q=1#part")))
    assert (got.status, got.body, got.truncated, got.redirects) == (200, "héllo".encode(), False, ())
    assert (got.headers.get("x-one"), got.headers.get_all("X-ONE")) == ("1", ("1", "2"))
    assert got.headers.get("absent") is None
    assert (got.final_url, got.address, got.raw_bytes) == (named(site, "home.example", "/page?q=1"), "127.0.0.2", 6)
    [seen] = site.log
    assert seen.headers["host"] == f"home.example:{site.port}"
    assert seen.headers["user-agent"].startswith("comity/")
    assert seen.headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("status", [204, 304, 404, 429, 500, 503, 300])
async def test_any_status_is_an_answer(site: FixtureSite, client: GuardedClient, status: int) -> None:
    site.set("/page", text("" if status in (204, 304) else "words", status=status))
    assert fetched(await client.get(site.url(0, "/page"))).status == status


async def test_user_agent_without_the_token_is_refused() -> None:
    with pytest.raises(UserAgentError):
        GuardedClient(Egress(egress_rules("")), user_agent="Mozilla/5.0")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_and_listed(site: FixtureSite, client: GuardedClient, code: int) -> None:
    site.set("/a", redirect("b", status=code))
    site.set("/b", redirect(site.url(1, "/page"), status=code))
    site.set("/page", text("there"), host=1)
    got = fetched(await client.get(site.url(0, "/a")))
    assert (got.body, got.final_url) == (b"there", site.url(1, "/page"))
    assert got.redirects == (site.url(0, "/a"), site.url(0, "/b"))


async def test_tenth_redirect_is_followed_and_the_eleventh_is_not(site: FixtureSite, client: GuardedClient) -> None:
    def hop(request: Request) -> Response:
        left = request.number("left", 0)
        return redirect(f"/hop?left={left - 1}") if left else text("end")

    site.set("/hop", hop)
    assert len(fetched(await client.get(site.url(0, "/hop?left=10"))).redirects) == 10
    beyond = failure(await client.get(site.url(0, "/hop?left=11")))
    assert (beyond.code, len(beyond.redirects), beyond.status) == ("E_HTTP_FETCH", 10, 302)


async def test_redirects_in_a_circle_end(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/a", redirect("/b"))
    site.set("/b", redirect("/a"))
    assert "more than 10 redirects" in failure(await client.get(site.url(0, "/a"))).message
    assert len(site.log) == 11


@pytest.mark.parametrize("location", ["ftp://home.example/", "file:///etc/passwd", "http://[", "http://h:99999/"])
async def test_redirect_off_the_web_is_refused(site: FixtureSite, client: GuardedClient, location: str) -> None:
    site.set("/a", redirect(location))
    assert failure(await client.get(site.url(0, "/a"))).code == "E_URL_POLICY"


async def test_redirect_without_a_place_is_the_answer(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/a", text("", status=302))
    assert fetched(await client.get(site.url(0, "/a"))).status == 302


async def test_session_goes_with_the_first_request_and_credentials_follow_home_alone(
    site: FixtureSite, client: GuardedClient
) -> None:
    site.set("/a", redirect(named(site, "sub.home.example", "/b")))
    site.set("/b", redirect(named(site, "other.example", "/c")))
    site.set("/c", redirect(named(site, "home.example", "/page")))
    session = Session({"Authorization": "Bearer x", "X-Session": "s"}, {"id": "7", "b": "8"})
    assert fetched(await client.get(named(site, "home.example", "/a"), headers={"X-Own": "o"}, session=session))
    sent = [
        tuple(seen.headers.get(name) for name in ("authorization", "cookie", "x-session", "x-own")) for seen in site.log
    ]
    assert sent == [
        ("Bearer x", "id=7; b=8", "s", "o"),
        ("Bearer x", "id=7; b=8", None, "o"),
        (None, None, None, "o"),
        (None, None, None, "o"),  # home again, and nobody gave them anew
    ]


async def test_cookies_of_answers_are_not_kept(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/a", redirect("/page").with_headers(("Set-Cookie", "a=b; Path=/")))
    for _ in range(2):
        await client.get(site.url(0, "/a"))
    assert all("cookie" not in seen.headers for seen in site.log)
    assert len(site.log) == 4


@pytest.mark.parametrize(
    ("headers", "session"),
    [
        ({"X-A": "1\r\nX-B: 2"}, Session()),
        ({"Host": "x"}, Session()),
        ({"a b": "1"}, Session()),
        ({"X-A": "é"}, Session()),
        ({"X-A": "1", "x-a": "2"}, Session()),
        ({"X-Long": "1" * 70_000}, Session()),
        ({}, Session({"Content-Length": "5"})),
        ({}, Session(cookies={"a": "1;2"})),
        ({}, Session(cookies={"a b": "1"})),
    ],
)
async def test_what_cannot_be_sent_is_refused_before_asking(
    site: FixtureSite, client: GuardedClient, headers: dict[str, str], session: Session
) -> None:
    assert failure(await client.get(site.url(0, "/page"), headers=headers, session=session)).code == "E_HTTP_REQUEST"
    assert not site.log


async def test_hook_is_asked_after_the_policy_and_may_refuse(site: FixtureSite, client: GuardedClient) -> None:
    asked: list[tuple[str, str]] = []

    async def hook(before: str, target: str) -> str | None:
        asked.append((before, target))
        return "not there" if "/secret" in target else None

    site.set("/a", redirect("/b"))
    site.set("/b", redirect("/secret"))
    refused = failure(await client.get(site.url(0, "/a"), on_redirect=hook))
    assert (refused.code, refused.final_url) == ("E_URL_POLICY", site.url(0, "/b"))
    assert "not there" in refused.message
    assert len(asked) == 2
    asked.clear()
    site.set("/b", redirect("ftp://x/"))
    await client.get(site.url(0, "/a"), on_redirect=hook)
    assert [target for _, target in asked] == [site.url(0, "/b")]
    assert isinstance(await client.get(site.url(0, "/a"), on_redirect=lambda _, __: None), FetchFailure)
    asked.clear()
    site.set("/b", redirect("http://10.1.2.3/"))
    refused = failure(await client.get(site.url(0, "/a"), on_redirect=hook))
    assert (refused.code, refused.final_url) == ("E_URL_POLICY", site.url(0, "/b"))
    assert [target for _, target in asked] == [site.url(0, "/b")]
    assert not site.asked_for("/secret")


async def test_what_the_hook_raises_is_the_callers(site: FixtureSite, client: GuardedClient) -> None:
    def hook(before: str, target: str) -> str | None:
        raise TimeoutError("mine")

    site.set("/a", redirect("/page"))
    with pytest.raises(TimeoutError, match="mine"):
        await client.get(site.url(0, "/a"), on_redirect=hook)


async def test_environment_proxies_are_not_used(
    site: FixtureSite, client: GuardedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, site.origin(2))
    assert fetched(await client.get(site.url(0, "/page")))
    assert [seen.host_index for seen in site.log] == [0]


@pytest.mark.parametrize(
    ("path", "limits", "says"),
    [
        ("/stall/silent", GetLimits(first_byte_ms=300, total_ms=60_000), "no answer within 300 ms"),
        ("/stall/body?bytes=60", GetLimits(first_byte_ms=60_000, total_ms=600), "not finished within 600 ms"),
    ],
)
async def test_each_wait_has_its_limit(
    site: FixtureSite, client: GuardedClient, path: str, limits: GetLimits, says: str
) -> None:
    late = failure(await client.get(site.url(0, path), limits=limits))
    assert late.code == "E_TIMEOUT"
    assert says in late.message
    assert await asyncio.to_thread(site.wait_until, lambda log: log[-1].finished_s is not None), "we did not hang up"


async def test_redirects_share_the_total(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/a", Response(status=302, headers=(("Location", "/a"),), delay_ms=200))
    late = failure(await client.get(site.url(0, "/a"), limits=GetLimits(first_byte_ms=10_000, total_ms=700)))
    assert (late.code, "not finished within 700 ms" in late.message) == ("E_TIMEOUT", True)


async def test_no_more_fetches_at_once_than_connections(site: FixtureSite) -> None:
    site.set("/page", Response(body=b"x", delay_ms=50))
    async with GuardedClient(Egress(egress_rules("127.0.0.0/8")), max_connections=2) as client:
        got = await asyncio.gather(*(client.get(site.url(index % 3, f"/page?{index}")) for index in range(9)))
    assert all(isinstance(one, Fetched) for one in got)
    assert site.max_concurrent() <= 2


async def test_name_without_address_is_a_value(client: GuardedClient) -> None:
    lost = failure(await client.get("http://nobody.example/"))
    assert (lost.code, "cannot be looked up" in lost.message) == ("E_HTTP_FETCH", True)


async def test_outside_of_its_block_it_is_an_error_of_the_caller() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await GuardedClient(Egress(egress_rules(""))).get("http://home.example/")
