"""The robots client against a real site; what the site saw is the verdict."""

import asyncio
import gzip
import pickle
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from comity.polite.client import DEFAULT_USER_AGENT, GetLimits
from comity.polite.egress import Egress
from comity.polite.errors import UserAgentError
from comity.polite.robots import fetch_all as fetch_all_guarded
from comity.polite.robots import fetch_robots as fetch_guarded
from comity.polite.rules.addresses import egress_rules
from comity.polite.rules.robots import LIMIT_BYTES, RobotsFetch, judge
from tests.site import FixtureSite, Request, Response, redirect, robots, text

HASTY_START = GetLimits(connect_ms=60_000, first_byte_ms=300, total_ms=60_000)
HASTY_WHOLE = GetLimits(connect_ms=60_000, first_byte_ms=60_000, total_ms=600)
"""One limit at a time, so that it is the one that is met, however slow the machine."""
PATIENT = GetLimits(connect_ms=60_000, first_byte_ms=60_000, total_ms=120_000)
"""A loaded machine's own site may take longer than we would wait for a stranger's."""
WITHIN_S = 30.0
"""Less than the hosts here take that are not hurried, and more than a loaded machine needs."""


async def fetch_all(origins: Iterable[str], allow: str = "127.0.0.0/8", **options: Any) -> dict[str, RobotsFetch]:
    """Where this machine's own sites may be visited."""
    return await fetch_all_guarded(origins, egress=Egress(egress_rules(allow)), **{"budget": PATIENT} | options)


async def fetch_robots(origin: str, allow: str = "127.0.0.0/8", **options: Any) -> RobotsFetch:
    return await fetch_guarded(origin, egress=Egress(egress_rules(allow)), **{"budget": PATIENT} | options)


def allowed(fetch: RobotsFetch, path: str) -> bool:
    return judge(fetch, [fetch.origin + path]).verdicts[0].allowed


async def test_rules_and_delay_arrive(site: FixtureSite) -> None:
    fetch = await fetch_robots(site.origin(1))
    ruling = judge(fetch, [site.forbidden(), site.url(1, "/menu")])
    assert [verdict.allowed for verdict in ruling.verdicts] == [False, True]
    assert ruling.crawl_delay_ms == 3000
    assert (fetch.outcome, fetch.http_status, fetch.redirects, fetch.truncated) == ("found", 200, 0, False)
    assert pickle.loads(pickle.dumps(fetch)) == fetch


async def test_site_sees_one_request_that_names_us(site: FixtureSite) -> None:
    await fetch_robots(site.origin(0), user_agent="comity/9.9 (+https://example.org/about)")
    (seen,) = site.log
    assert (seen.method, seen.path) == ("GET", "/robots.txt")
    assert seen.headers["user-agent"] == "comity/9.9 (+https://example.org/about)"
    assert seen.headers["accept-encoding"] == "gzip, deflate"
    assert "cookie" not in seen.headers


def test_default_user_agent_carries_the_token() -> None:
    assert DEFAULT_USER_AGENT.startswith("comity/")


@pytest.mark.parametrize("user_agent", ["Mozilla/5.0", "", "comity\r\nX-More: 1", "comity 灯台"])
async def test_user_agent_that_robots_cannot_address_is_refused_before_asking(
    site: FixtureSite, user_agent: str
) -> None:
    with pytest.raises(UserAgentError, match="must be printable ASCII and contain the token 'comity'"):
        await fetch_robots(site.origin(0), user_agent=user_agent)
    assert not site.log


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(204, "found"), (403, "absent"), (404, "absent"), (410, "absent"), (429, "unreachable"), (500, "unreachable"),
     (503, "unreachable"), (304, "unreachable")],
)  # fmt: skip
async def test_status_decides(site: FixtureSite, code: int, outcome: str) -> None:
    site.set("/robots.txt", robots.status(code))
    fetch = await fetch_robots(site.origin(0))
    assert (fetch.outcome, fetch.http_status) == (outcome, code)
    assert allowed(fetch, "/") is (outcome != "unreachable")
    if outcome != "found":
        assert f"HTTP {code}" in fetch.detail


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_five_redirects_are_followed(site: FixtureSite, code: int) -> None:
    site.set("/robots.txt", robots.chain(5, code=code))
    fetch = await fetch_robots(site.origin(0))
    assert (fetch.outcome, fetch.redirects) == ("found", 5)
    assert not allowed(fetch, "/chained")
    assert allowed(fetch, "/free")
    assert len(site.log) == 6


async def test_sixth_redirect_is_not_followed(site: FixtureSite) -> None:
    site.set("/robots.txt", robots.chain(6))
    fetch = await fetch_robots(site.origin(0))
    assert (fetch.outcome, fetch.redirects) == ("unreachable", 5)
    assert "more than 5 redirects" in fetch.detail
    assert len(site.log) == 6


async def test_redirects_count_across_hosts_and_rules_stay_with_the_first(site: FixtureSite) -> None:
    site.set("/robots.txt", redirect(site.url(2, "/moved-robots")), host=0)
    site.set("/moved-robots", robots.forbid("/a"), host=2)
    fetch = await fetch_robots(site.origin(0))
    assert (fetch.origin, fetch.redirects) == (site.origin(0), 1)
    assert fetch.final_url == site.url(2, "/moved-robots")
    assert not allowed(fetch, "/a")


async def test_redirect_to_a_missing_file_means_no_rules(site: FixtureSite) -> None:
    site.set("/robots.txt", redirect("/status/404"))
    assert (await fetch_robots(site.origin(0))).outcome == "absent"


@pytest.mark.parametrize("target", ["ftp://light.example/robots.txt", "file:///etc/passwd", "http://["])
async def test_redirect_off_the_web_is_not_followed(site: FixtureSite, target: str) -> None:
    site.set("/robots.txt", redirect(target))
    fetch = await fetch_robots(site.origin(0))
    assert fetch.outcome == "unreachable"
    assert "not a web address" in fetch.detail


async def test_redirect_takes_no_password_along(site: FixtureSite) -> None:
    site.set("/robots.txt", redirect(f"http://keeper:secret@{site.hosts[2]}/moved-robots"), host=0)
    site.set("/moved-robots", robots.allow_all(), host=2)
    assert (await fetch_robots(site.origin(0))).outcome == "found"
    (asked,) = site.asked_for("/moved-robots")
    assert "authorization" not in asked.headers


async def test_redirect_without_a_target_leaves_the_rules_unknown(site: FixtureSite) -> None:
    site.set("/robots.txt", text("", status=302))
    assert (await fetch_robots(site.origin(0))).outcome == "unreachable"


async def test_cookie_of_one_answer_is_not_sent_with_the_next_request(site: FixtureSite) -> None:
    site.set("/robots.txt", robots.chain(2).with_headers(("Set-Cookie", "a=b; Path=/")))
    await fetch_robots(site.origin(0))
    assert [entry.headers.get("cookie") for entry in site.log] == [None, None, None]


async def test_line_within_500_kib_counts_and_one_beyond_does_not(site: FixtureSite) -> None:
    line = "Disallow: /edge"
    site.set("/robots.txt", robots.padded(line, at_byte=LIMIT_BYTES - len(line) - 1), host=0)
    site.set("/robots.txt", robots.padded(line, at_byte=LIMIT_BYTES - len(line) + 1), host=1)
    inside, beyond = (await fetch_all([site.origin(0), site.origin(1)])).values()
    assert (inside.truncated, allowed(inside, "/edge")) == (False, False)
    assert (beyond.truncated, allowed(beyond, "/edge")) == (True, True)


async def test_ten_gigabytes_cost_no_more_than_the_limit(site: FixtureSite) -> None:
    site.set("/robots.txt", robots.endless(10 * 1024**3))
    fetch = await fetch_robots(site.origin(0))
    assert (fetch.outcome, fetch.truncated, len(fetch.body)) == ("found", True, LIMIT_BYTES)
    assert site.wait_until(lambda log: log[0].finished_s is not None)
    assert site.log[0].bytes_sent < 10_000_000  # what the kernel's buffers took before we hung up


async def test_gzip_is_unpacked(site: FixtureSite) -> None:
    body = gzip.compress(b"User-agent: *\n", mtime=0) + gzip.compress(b"Disallow: /a\n", mtime=0) + b"\0" * 10
    site.set("/robots.txt", Response(body=body, headers=(("Content-Encoding", "gzip"),)))
    fetch = await fetch_robots(site.origin(0))
    assert fetch.outcome == "found"
    assert not allowed(fetch, "/a")


async def test_gzip_bomb_is_unpacked_to_the_limit_only(site: FixtureSite) -> None:
    site.set("/robots.txt", redirect("/gzip/bomb?mb=200"))
    began = time.process_time()
    fetch = await fetch_robots(site.origin(0))
    assert fetch.truncated
    assert len(fetch.body) <= LIMIT_BYTES
    assert time.process_time() - began < WITHIN_S


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/gzip/broken", "gzip"),
        ("/gzip/truncated", "ends too early"),
        ("/gzip/lie", "broken gzip"),
        ("/cut?bytes=60", ""),
        ("/cut?bytes=60&chunked", ""),
        ("/length/long", ""),
        ("/drop", ""),
    ],
)
async def test_file_that_does_not_arrive_whole_leaves_the_rules_unknown(
    site: FixtureSite, path: str, says: str
) -> None:
    site.set("/robots.txt", redirect(path))
    fetch = await fetch_robots(site.origin(0))
    assert fetch.outcome == "unreachable"
    assert says in fetch.detail
    assert site.url(0, path) in fetch.detail


async def test_unknown_packing_leaves_the_rules_unknown(site: FixtureSite) -> None:
    site.set("/robots.txt", robots.allow_all().with_headers(("Content-Encoding", "br")))
    fetch = await fetch_robots(site.origin(0))
    assert fetch.outcome == "unreachable"
    assert "'br'" in fetch.detail


@pytest.mark.parametrize(
    ("path", "budget", "says"),
    [
        ("/stall/silent", HASTY_START, "no answer within 300 ms"),
        ("/slow?ms=5000", HASTY_START, "no answer within 300 ms"),
        ("/stall/head", HASTY_WHOLE, "not finished within 600 ms"),
        ("/stall/body?bytes=60", HASTY_WHOLE, "not finished within 600 ms"),
    ],
)
async def test_slow_answer_ends_with_its_budget(site: FixtureSite, path: str, budget: GetLimits, says: str) -> None:
    site.set("/robots.txt", redirect(path))
    began = time.monotonic()
    fetch = await fetch_robots(site.origin(0), budget=budget)
    assert time.monotonic() - began < WITHIN_S
    assert fetch.outcome == "unreachable"
    assert says in fetch.detail
    assert site.wait_until(lambda log: log[-1].finished_s is not None), "we did not hang up"


async def test_slow_answer_within_its_budget_counts(site: FixtureSite) -> None:
    site.set("/robots.txt", redirect("/slow?ms=50"))
    assert (await fetch_robots(site.origin(0))).outcome == "found"


async def test_redirects_share_one_budget(site: FixtureSite) -> None:
    def hop(request: Request) -> Response:
        return Response(status=302, headers=(("Location", "/robots.txt"),), delay_ms=200)

    site.set("/robots.txt", hop)
    fetch = await fetch_robots(site.origin(0), budget=HASTY_WHOLE)
    assert "not finished within 600 ms" in fetch.detail
    assert len(site.log) <= 4


async def test_host_that_drops_or_is_gone_leaves_the_rules_unknown(site: FixtureSite) -> None:
    site.set("/robots.txt", robots.dropped())
    dropped = await fetch_robots(site.origin(0))
    with site.gone():
        gone = await fetch_robots(site.origin(0))
    for fetch in (dropped, gone):
        assert (fetch.outcome, fetch.http_status) == ("unreachable", None)
        assert not allowed(fetch, "/")
        assert fetch.detail
    site.restore()
    assert (await fetch_robots(site.origin(0))).outcome == "found"


@pytest.mark.parametrize(
    "origin", ["ftp://light.example", "", "http://[", "http://a..b.invalid", "http://xn--.invalid"]
)
async def test_address_that_cannot_be_asked_is_a_value_too(origin: str) -> None:
    fetch = await fetch_robots(origin)
    assert fetch.outcome == "unreachable"
    assert fetch.detail


async def test_environment_proxies_are_not_used(site: FixtureSite, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, site.origin(2))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert (await fetch_robots(site.origin(0))).outcome == "found"
    assert [entry.host_index for entry in site.log] == [0]


async def test_each_origin_is_asked_once_and_no_more_than_allowed_at_a_time(site: FixtureSite) -> None:
    site.set("/robots.txt", Response(body=b"User-agent: *\n", content_type="text/plain", delay_ms=150))
    origins = [site.origin(0), site.origin(1), site.origin(2), site.origin(0)]
    fetches = await fetch_all(origins, concurrency=2)
    assert list(fetches) == origins[:3]
    assert {fetch.outcome for fetch in fetches.values()} == {"found"}
    assert len(site.log) == 3
    assert site.max_concurrent(kind="robots") == 2


async def test_one_bad_host_does_not_hold_up_the_others(site: FixtureSite) -> None:
    site.set("/robots.txt", robots.never(), host=0)
    enough = GetLimits(connect_ms=60_000, first_byte_ms=4_000, total_ms=60_000)  # for the sound one
    fetches = await fetch_all([site.origin(0), site.origin(1)], budget=enough)
    assert [fetch.outcome for fetch in fetches.values()] == ["unreachable", "found"]


async def test_no_origins_no_requests(site: FixtureSite) -> None:
    assert await fetch_all([]) == {}
    assert not site.log


async def test_cancelling_hangs_up_at_once(site: FixtureSite) -> None:
    site.set("/robots.txt", robots.never())
    task = asyncio.create_task(fetch_all([site.origin(0), site.origin(1), site.origin(2)]))
    assert await asyncio.to_thread(site.wait_until, lambda log: len(log) == 3)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < WITHIN_S
    assert await asyncio.to_thread(site.wait_until, lambda log: all(e.finished_s is not None for e in log))


def test_synchronous_caller_may_run_it(site: FixtureSite) -> None:
    assert asyncio.run(fetch_robots(site.origin(0))).outcome == "found"


async def test_loopback_is_not_asked_unless_allowed(site: FixtureSite) -> None:
    refused = await fetch_guarded(site.origin(0))
    assert refused.outcome == "unreachable"
    assert "loopback" in refused.detail
    assert f"COMITY_ALLOW_PRIVATE={site.hosts[0]}" in refused.detail
    assert not site.log
    assert (await fetch_robots(site.origin(0), allow=site.hosts[0])).outcome == "found"


async def test_redirect_inside_is_not_followed(site: FixtureSite) -> None:
    site.set("/robots.txt", redirect(site.url(1, "/inside")), host=0)
    fetch = await fetch_robots(site.origin(0), allow=site.hosts[0])
    assert (fetch.outcome, fetch.redirects) == ("unreachable", 1)
    assert "loopback" in fetch.detail
    assert [entry.host_index for entry in site.log] == [0]
    assert (await fetch_robots(site.origin(0), allow=",".join(site.hosts))).redirects == 1


async def test_connection_goes_to_the_address_that_was_judged(site: FixtureSite) -> None:
    asked: list[str] = []

    async def lookup(host: str) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.3"] if len(asked) == 1 else ["127.0.0.2"]

    port = site.hosts[0].partition(":")[2]
    egress = Egress(egress_rules(site.hosts[1]), lookup=lookup, kept_s=0)
    fetch = await fetch_guarded(f"http://rebinding.example:{port}", egress=egress)
    assert fetch.outcome == "found"
    assert [(entry.host_index, entry.headers["host"]) for entry in site.log] == [(1, f"rebinding.example:{port}")]
    again = await fetch_guarded(f"http://rebinding.example:{port}", egress=egress)
    assert again.outcome == "unreachable"
    assert len(site.log) == 1
    assert asked == ["rebinding.example"] * 2
