"""Servers that mean harm: every page ends in a code, within its budget. Each test has a time limit of its own."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from comity.extract.run import ExtractOptions, Failure, Result
from tests.integration.extract.programs import code_of, titles_of
from tests.integration.extract.web import Answer, Web, redirect

pytestmark = pytest.mark.timeout(60)

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
Speak = Callable[[socket.socket], None]


@contextmanager
def speaking(speak: Speak) -> Iterator[str]:
    """A server that says to each caller what `speak` says, until it hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            with caller:
                try:
                    caller.recv(65536)
                    speak(caller)
                except OSError:
                    continue  # the caller had enough

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(30)


def outcome(url: str, timeout_s: float = 30) -> Result | Failure:
    return titles_of(url).extract(None, ExtractOptions(allow_private_hosts=True, timeout_s=timeout_s))


def drip(caller: socket.socket) -> None:
    caller.sendall(HEAD + b"\r\n<h1>")
    while True:
        caller.sendall(b"x")
        time.sleep(0.02)


def drip_of_headers(caller: socket.socket) -> None:
    caller.sendall(HEAD)
    while True:
        caller.sendall(b"a: b\r\n")
        time.sleep(0.02)


def flood(caller: socket.socket) -> None:
    caller.sendall(HEAD + b"\r\n")
    while True:
        caller.sendall(b"<div>" * 20_000)


def flood_of_headers(caller: socket.socket) -> None:
    caller.sendall(HEAD)
    while True:
        caller.sendall(b"a: b\r\n" * 10_000)


def silence(caller: socket.socket) -> None:
    caller.recv(1)  # which comes when the caller hangs up


def nonsense(caller: socket.socket) -> None:
    caller.sendall(b"\x00\xff" * 1000 + b"\r\n\r\n")


def half_a_chunk(caller: socket.socket) -> None:
    caller.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\nffffffff\r\n<h1>")


SPEAKERS: dict[str, tuple[Speak, float, set[str]]] = {
    "a byte at a time": (drip, 1, {"E_TIMEOUT"}),
    "a header at a time": (drip_of_headers, 1, {"E_TIMEOUT"}),
    "nothing at all": (silence, 1, {"E_TIMEOUT"}),
    "a page without end": (flood, 30, {"E_HTTP_BODY_TOO_LARGE"}),
    "headers without end": (flood_of_headers, 30, {"E_HTTP_FETCH"}),
    "no HTTP": (nonsense, 30, {"E_HTTP_FETCH"}),
    "a chunk that breaks off": (half_a_chunk, 30, {"E_HTTP_READ"}),
}


@pytest.mark.parametrize(("speak", "timeout_s", "codes"), SPEAKERS.values(), ids=SPEAKERS)
def test_hostile_server_ends_in_a_code(speak: Speak, timeout_s: float, codes: set[str]) -> None:
    with speaking(speak) as url:
        assert code_of(outcome(url, timeout_s)) in codes


def test_bomb_is_refused_before_it_is_unpacked(web: Web) -> None:
    packed = gzip.compress(b"<div>" * 20_000_000, 1)
    web.pages["/"] = Answer(packed, headers={"content-encoding": "gzip"})
    assert code_of(outcome(web.url + "/")) == "E_HTTP_BODY_TOO_LARGE"


def test_bomb_in_a_bomb_is_refused(web: Web) -> None:
    packed = gzip.compress(gzip.compress(b"<div>" * 1_000_000))
    web.pages["/"] = Answer(packed, headers={"content-encoding": "gzip, gzip"})
    assert code_of(outcome(web.url + "/")) in ("E_HTTP_READ", "E_HTTP_FETCH")


def test_redirects_without_end_are_given_up(web: Web) -> None:
    web.pages["/"] = redirect("/")
    assert code_of(outcome(web.url + "/")) == "E_HTTP_FETCH"
    assert len(web.asked) <= 12
