"""HTTP messages as blocks: exact where exact is known, and never headers that lie about what is stored."""

import pytest

from comity.archive.http_block import reason_phrase, request_head, response_head, split_headers

EXACT = "HTTP/1.1 200 OK\r\nX-OdD:  a\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 5\r\n\r\n"


def head(text: str | None, body_bytes: int, *headers: tuple[str, str], status: int = 200, phrase: str = "") -> str:
    return response_head(status=status, phrase=phrase, headers=headers, text=text, body_bytes=body_bytes).decode(
        "latin-1"
    )


def test_exact_block_stays_byte_for_byte() -> None:
    assert head(EXACT, 5) == EXACT


@pytest.mark.parametrize(
    ("text", "body_bytes", "expected"),
    [
        (
            "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 5\r\n\r\n",
            9,
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Encoding: br\r\nX-Archive-Orig-Content-Length: 5\r\n"
            "Content-Length: 9\r\n\r\n",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            3,
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-transfer-encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            0,
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Length: 5\r\nContent-Length: 0\r\n\r\n",
        ),
        ("HTTP/1.0 200 OK\r\nA: b\r\n\r\n", 4, "HTTP/1.0 200 OK\r\nA: b\r\n\r\n"),
        ("HTTP/1.1 200 OK\nA: b\n\n", 4, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
    ],
)
def test_headers_tell_what_is_stored(text: str, body_bytes: int, expected: str) -> None:
    assert head(text, body_bytes) == expected


def test_block_is_built_where_none_came() -> None:
    headers = split_headers([(":status", "404"), ("content-type", "text/html"), ("set-cookie", "a=1\nb=2")])
    assert head(None, 0, *headers, status=404) == (
        "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("status", "given", "expected"),
    [(200, "Fine", "Fine"), (404, "", "Not Found"), (999, "", ""), (103, "", "Early Hints")],
)
def test_reason_phrase_is_as_given_else_registered(status: int, given: str, expected: str) -> None:
    assert reason_phrase(status, given) == expected


def test_request_names_its_host_once() -> None:
    made = request_head(method="GET", target="/a?b", host="a.example", headers=[("accept", "*/*")])
    assert made == b"GET /a?b HTTP/1.1\r\nHost: a.example\r\naccept: */*\r\n\r\n"
    kept = request_head(method="GET", target="/", host="a.example", headers=[("HOST", "b.example")])
    assert kept == b"GET / HTTP/1.1\r\nHOST: b.example\r\n\r\n".replace(b"HOST", b"HOST")


def test_header_bytes_beyond_latin_1_are_kept_as_utf_8() -> None:
    assert "灯台".encode() in response_head(status=200, phrase="", headers=[("x", "灯台")], text=None, body_bytes=0)
    assert b"\xe9" in response_head(status=200, phrase="", headers=[("x", "é")], text=None, body_bytes=0)
