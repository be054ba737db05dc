"""The fixture web itself: that it serves, misbehaves as asked, and writes down what happened."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from tests.site import FixtureSite, Request, Response, read_log, text, visits_of


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=6) as site:
        yield site


@pytest.fixture
def site(running: FixtureSite) -> FixtureSite:
    running.restore()
    running.clear_log()
    return running


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=30) as client:
        yield client


def links_of(url: str, document: str) -> list[str]:
    return [urljoin(url, found) for found in re.findall(r'<a href="([^"]+)"', document)]


def levels(site: FixtureSite, client: httpx.Client, host: int, deepest: int) -> list[list[str]]:
    """Same-host pages by distance from the seed, those that answer 200."""
    seen, found, frontier = {site.seeds[host]}, [], [site.seeds[host]]
    for _ in range(deepest + 1):
        answered = [(url, response) for url in frontier if (response := client.get(url)).status_code == 200]
        found.append([url for url, _ in answered])
        following = [link for url, response in answered for link in links_of(url, response.text)]
        frontier = [url for url in dict.fromkeys(following) if url.startswith(site.origin(host)) and url not in seen]
        seen.update(frontier)
    return found


def test_tree_has_pages_enough_on_three_levels_of_every_host(site: FixtureSite, client: httpx.Client) -> None:
    reached = [levels(site, client, host, 2) for host in range(6)]
    assert all(all(level for level in host) for host in reached)
    assert sum(len(level) for host in reached for level in host) >= 25
    for host in range(6):
        every = {url for level in levels(site, client, host, 3) for url in level}
        assert every >= set(site.pages(host))


def test_tree_speaks_two_languages_and_links_across_hosts(site: FixtureSite, client: httpx.Client) -> None:
    english, japanese = client.get(site.seeds[0]), client.get(site.seeds[1])
    assert '<html lang="en">' in english.text
    assert '<html lang="ja">' in japanese.text
    assert site.seeds[1] in links_of(site.seeds[0], english.text)
    assert site.forbidden() in links_of(site.seeds[1], japanese.text)


def test_tree_holds_one_dead_link_and_a_redirect_but_none_of_the_zoo(site: FixtureSite, client: httpx.Client) -> None:
    documents = {url: client.get(url).text for host in range(6) for url in site.pages(host)}
    links = {link for url, document in documents.items() for link in links_of(url, document)}
    statuses = {link: client.get(link).status_code for link in sorted(links - documents.keys())}
    assert sorted(statuses.values()) == [301, 404]
    assert not [link for link in links if "/zoo" in link]


def test_pictures_are_whole_and_the_same_every_time(site: FixtureSite, client: httpx.Client) -> None:
    one, two = (client.get(site.url(0, "/pictures/tea-3-320.png")).content for _ in range(2))
    assert one == two
    assert one.startswith(b"\x89PNG\r\n\x1a\n")
    packed = one[one.index(b"IDAT") + 4 : one.index(b"IEND") - 8]
    assert len(zlib.decompress(packed)) == 180 * 321
    assert client.get(site.url(0, "/pictures/tea-3-99999.png")).status_code == 404


def test_robots_forbid_one_page_and_ask_for_a_delay_on_one_host(site: FixtureSite, client: httpx.Client) -> None:
    assert client.get(site.url(1, "/robots.txt")).text == "User-agent: *\nDisallow: /back-room\nCrawl-delay: 3\n"
    assert client.get(site.url(0, "/robots.txt")).text == "User-agent: *\nDisallow:\n"


def test_crawl_delay_is_the_tests_to_choose(client: httpx.Client) -> None:
    with FixtureSite(hosts=2, crawl_delay={0: 0.5}) as site:
        assert "Crawl-delay: 0.5" in client.get(site.url(0, "/robots.txt")).text
        forbidding = client.get(site.url(1, "/robots.txt")).text
    assert "Crawl-delay" not in forbidding
    assert "/back-room" in forbidding


STATUSES = (200, 204, 301, 302, 303, 307, 308, 304, 400, 401, 403, 404, 410, 418, 429, 451, 500, 502, 503, 599)


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_can_be_had(site: FixtureSite, client: httpx.Client, status: int) -> None:
    assert client.get(site.url(0, f"/status/{status}")).status_code == status
    assert site.log[-1].status == status


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/stall/silent", httpx.ReadTimeout),
        ("/stall/head", httpx.ReadTimeout),
        ("/stall/body?bytes=60", httpx.ReadTimeout),
        ("/slow?ms=5000", httpx.ReadTimeout),
        ("/cut?bytes=60", httpx.RemoteProtocolError),
        ("/cut?bytes=60&chunked", httpx.RemoteProtocolError),
        ("/length/long", httpx.RemoteProtocolError),
        ("/drop", httpx.TransportError),
        ("/gzip/broken", httpx.DecodingError),
        ("/gzip/lie", httpx.DecodingError),
    ],
)
def test_faults_reach_the_client_and_end_when_it_leaves(site: FixtureSite, path: str, error: type[Exception]) -> None:
    patience = httpx.Timeout(60, read=0.2 if error is httpx.ReadTimeout else 60)
    with httpx.Client(trust_env=False, timeout=patience) as client, pytest.raises(error):
        client.get(site.url(0, path))
    assert site.wait_until(lambda log: log[-1].finished_s is not None)


def test_large_body_is_streamed_and_counted(site: FixtureSite, client: httpx.Client) -> None:
    assert len(client.get(site.url(0, "/large?bytes=3000001")).content) == 3_000_001
    assert len(client.get(site.url(0, "/chunked?bytes=100001")).content) == 100_001
    assert site.wait_until(lambda log: log[-1].finished_s is not None)
    assert [entry.bytes_sent for entry in site.log] == [3_000_001, 100_001]


def test_head_has_the_length_and_no_body(site: FixtureSite, client: httpx.Client) -> None:
    response = client.head(site.seeds[0])
    assert int(response.headers["content-length"]) > 500
    assert response.content == b""
    assert client.get(site.seeds[0]).status_code == 200  # the connection is still in step


def test_retry_after_refuses_once_or_always(site: FixtureSite, client: httpx.Client) -> None:
    once = [client.get(site.url(0, "/retry-after?seconds=7&key=here")) for _ in range(2)]
    assert [response.status_code for response in once] == [429, 200]
    assert once[0].headers["retry-after"] == "7"
    always = [client.get(site.url(0, "/retry-after?status=503&always")).status_code for _ in range(2)]
    assert always == [503, 503]


def test_retry_after_may_be_a_date_and_restoring_forgets(site: FixtureSite, client: httpx.Client) -> None:
    first, second = (client.get(site.url(0, "/retry-after?seconds=60&date&key=date")) for _ in range(2))
    asked_for = parsedate_to_datetime(first.headers["retry-after"]) - datetime.now(UTC)
    assert 50 < asked_for.total_seconds() <= 60
    assert second.status_code == 200
    site.restore()
    assert client.get(site.url(0, "/retry-after?seconds=60&date&key=date")).status_code == 429


def test_drip_takes_its_time(site: FixtureSite, client: httpx.Client) -> None:
    assert len(client.get(site.url(0, "/drip?bytes=10&ms=20")).content) == 10
    (entry,) = site.log
    assert entry.finished_s is not None
    assert entry.finished_s - entry.started_s >= 0.2


def test_server_redirects_chain_and_loop(site: FixtureSite, client: httpx.Client) -> None:
    landed = client.get(site.url(0, "/redirect/chain?n=4&code=308"), follow_redirects=True)
    assert [response.status_code for response in landed.history] == [308] * 4
    with pytest.raises(httpx.TooManyRedirects):
        client.get(site.url(0, "/redirect/loop"), follow_redirects=True)


@pytest.mark.parametrize(("name", "label"), [("shift_jis", "Shift_JIS"), ("euc_jp", "EUC-JP")])
def test_japanese_charsets_are_what_they_say(site: FixtureSite, client: httpx.Client, name: str, label: str) -> None:
    declared = client.get(site.url(0, f"/zoo/charset/{name}"))
    assert declared.headers["content-type"] == f"text/html; charset={label}"
    assert "表示" in declared.content.decode(name)
    hidden = client.get(site.url(0, f"/zoo/charset/{name}?meta"))
    assert hidden.headers["content-type"] == "text/html"
    assert f'<meta charset="{label}">' in hidden.content.decode(name)


def test_conditional_requests_and_cookies_are_understood(site: FixtureSite, client: httpx.Client) -> None:
    tag = client.get(site.url(0, "/not-modified")).headers["etag"]
    assert client.get(site.url(0, "/not-modified"), headers={"if-none-match": tag}).status_code == 304
    assert ">new<" in client.get(site.url(0, "/zoo/memory")).text
    assert ">known<" in client.get(site.url(0, "/zoo/memory")).text


def test_post_arrives_with_its_body(site: FixtureSite, client: httpx.Client) -> None:
    assert client.post(site.url(0, "/echo"), content="tide").text == "POST tide"
    chunks = (piece for piece in (b"eb", b"b"))
    assert client.post(site.url(0, "/echo"), content=chunks).text == "POST ebb"
    assert [entry.body_text for entry in site.log] == ["tide", "ebb"]


def test_every_cage_of_the_zoo_is_there(site: FixtureSite, client: httpx.Client) -> None:
    listed = re.findall(r'<a href="(/[^"]+)"', client.get(site.url(0, "/zoo/")).text)
    pages = [path for path in listed if path.startswith("/zoo/")]
    assert len(pages) > 20
    assert {client.get(site.url(0, path.replace("&amp;", "&"))).status_code for path in pages} == {200}
    assert client.get(site.url(0, "/zoo/none-such")).status_code == 404


def test_script_of_a_test_covers_and_uncovers(site: FixtureSite, client: httpx.Client) -> None:
    def greet(request: Request) -> Response:
        return text(f"hello {request.query('name')}")

    async def later(request: Request) -> Response:
        await asyncio.sleep(0)
        return text("later")

    site.set("/new", greet)
    assert client.get(site.url(3, "/new?name=gull")).text == "hello gull"
    site.set("/new", later, host=3, times=1)
    assert [client.get(site.url(3, "/new?name=x")).text for _ in range(2)] == ["later", "hello x"]
    site.fail("/", 503, host=0, times=2)
    assert [client.get(site.seeds[0]).status_code for _ in range(3)] == [503, 503, 200]
    assert client.get(site.seeds[1]).status_code == 200
    site.fail("/", "drop")
    with pytest.raises(httpx.TransportError):
        client.get(site.seeds[2])
    site.restore()
    assert client.get(site.seeds[2]).status_code == 200
    assert client.get(site.url(3, "/new")).status_code == 404


def test_handler_that_fails_is_an_answer_that_says_so(site: FixtureSite, client: httpx.Client) -> None:
    def broken(request: Request) -> Response:
        raise ValueError("a test's own mistake")

    site.set("/broken", broken)
    response = client.get(site.url(0, "/broken"))
    assert response.status_code == 500
    assert "a test's own mistake" in response.text


def test_stopped_site_refuses_and_comes_back_on_its_port(site: FixtureSite) -> None:
    port = site.port
    with site.gone():
        for host in site.hosts:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host.partition(":")[0], port), timeout=1)
    assert site.port == port
    assert httpx.get(site.seeds[5], trust_env=False).status_code == 200


def test_stopping_does_not_wait_for_those_who_wait() -> None:
    def hold(url: str) -> None:
        with pytest.raises(httpx.TransportError):
            httpx.get(url, trust_env=False, timeout=120)

    with FixtureSite(hosts=1) as site:
        held = threading.Thread(target=hold, args=(site.url(0, "/stall/silent"),))
        held.start()
        assert site.wait_until(lambda log: len(log) == 1)
    held.join(60)
    assert not held.is_alive()
    assert site.log[0].finished_s is not None


def test_stopping_does_not_wait_for_those_who_do_not_read() -> None:
    with FixtureSite(hosts=1) as site, socket.create_connection(("127.0.0.2", site.port)) as deaf:
        deaf.sendall(b"GET /large?bytes=1000000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert site.wait_until(lambda log: len(log) == 1)
        began = time.monotonic()
        site.stop()
        assert time.monotonic() - began < 30
    assert 0 < site.log[0].bytes_sent < 1_000_000_000


def test_log_tells_pages_from_parts_and_robots(site: FixtureSite, client: httpx.Client) -> None:
    client.get(site.url(0, "/robots.txt"))
    client.get(site.seeds[0])
    client.get(site.url(0, "/style.css"), headers={"referer": site.seeds[0]})
    client.get(site.url(0, "/gulls"), headers={"sec-fetch-dest": "iframe", "referer": site.seeds[0]})
    client.get(site.seeds[1])
    client.get(site.url(1, "/menu?again"))
    assert [entry.kind for entry in site.log] == ["robots", "page", "resource", "frame", "page", "page"]
    assert [entry.bare_path for entry in site.page_requests(1)] == ["/", "/menu"]
    assert site.asked_for("/menu")
    assert site.asked_for("/menu?again")
    assert not site.asked_for("/menu?other")
    assert not site.asked_for("/menu", host=0)
    assert [len(visit.requests) for visit in site.visits()] == [3, 1, 1]
    assert site.overlapping_visits() == ()
    gap_s = site.smallest_gap_s(1)
    assert gap_s is not None
    assert 0 < gap_s < 30
    assert site.smallest_gap_s(0) is None


def test_log_has_times_in_order(site: FixtureSite, client: httpx.Client) -> None:
    client.get(site.url(0, "/slow?ms=120"))
    (entry,) = site.log
    assert entry.finished_s is not None
    assert entry.finished_at is not None
    assert 0.1 < entry.finished_s - entry.started_s < 30
    assert entry.started_at.tzinfo is not None
    assert entry.started_at < entry.finished_at


def test_two_at_once_are_counted_and_two_in_a_row_are_one(site: FixtureSite) -> None:
    async def ask(*batches: tuple[str, ...]) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            for batch in batches:
                await asyncio.gather(*(client.get(url) for url in batch))

    slow = tuple(site.url(host, "/slow?ms=200") for host in (0, 1))
    asyncio.run(ask(slow))
    assert (site.max_concurrent_visits(), site.max_concurrent(), site.max_concurrent(0)) == (2, 2, 1)
    site.clear_log()
    asyncio.run(ask(slow[:1], slow[1:]))
    assert site.max_concurrent_visits() == 1


def test_process_of_its_own_says_where_it_is_and_keeps_a_log(tmp_path: Path) -> None:
    log = tmp_path / "site.log"
    command = [sys.executable, "-m", "tests.site", "--hosts", "2", "--log", str(log), "--crawl-delay", "0=1.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        assert facts["seeds"] == [f"http://{host}/" for host in facts["hosts"]]
        answer = httpx.get(facts["seeds"][0] + "robots.txt", trust_env=False)
        httpx.get(facts["seeds"][1], trust_env=False)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert "Crawl-delay: 1.5" in answer.text
    entries = read_log(log)
    assert [entry.kind for entry in entries] == ["robots", "page"]
    assert [visit.url for visit in visits_of(entries)] == [facts["seeds"][1]]


def test_port_that_is_taken_is_an_error_that_says_so() -> None:
    with FixtureSite(hosts=1) as site, pytest.raises(OSError, match="in use"):
        FixtureSite(hosts=1, port=site.port)
