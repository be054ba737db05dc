"""Request bodies in canonical form, against the community's indexer."""

from io import BytesIO

import pytest
from cdxj_indexer.postquery import append_method_query

from comity.archive.request_query import body_query, with_query

FORM = "application/x-www-form-urlencoded"
PARTS = (
    b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\none two\r\n'
    b'--B\r\nContent-Disposition: form-data; name="f"; filename="x.bin"\r\n'
    b"Content-Type: application/octet-stream\r\n\r\n\x00\xff\x01\r\n--B--\r\n"
)
BODIES = [
    ("", b""),
    ("", b"\x00\xff"),
    ("application/octet-stream", b"abc"),
    (FORM, b"a=1&b=two+words&c=%E7%81%AF"),
    (FORM + "; charset=UTF-8", b"a=1"),
    (FORM, b"\xff\xfe"),
    ("application/json", b'{"tide":"ebb"}'),
    ("application/json", b'{"a":[1,2,{"a":3}],"b":{"c":null,"d":true},"e":"\xe7\x81\xaf"}'),
    ("application/json", b'["x"]'),
    ("application/json", b'{"a":1}\n{"a":2}'),
    ("application/json", b"not json"),
    ("text/plain;charset=UTF-8", b'{"a":1}'),
    ("text/plain;charset=UTF-8", b"just words"),
    ("multipart/form-data; boundary=B", PARTS),
    ("application/json", b'{"a":"' + b"x" * 5000 + b'"}'),
]


@pytest.mark.parametrize("url", ["http://a.example/", "http://a.example/?q"])
@pytest.mark.parametrize(("content_type", "body"), BODIES)
def test_query_is_that_of_the_field(
    content_type: str, body: bytes, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query, appended = append_method_query("POST", content_type, len(body), BytesIO(body), url)
    assert body_query(content_type, body) == query
    assert with_query(url, "POST", query) == url + appended


def test_deep_json_is_no_fault() -> None:
    assert body_query("application/json", b"[" * 100_000) == ""
    assert body_query("multipart/form-data", b"no boundary").startswith("__wb_post_data=")
