"""Which sink URLs are allowed: compared in parts, never as text."""

import pytest

from comity.capture.sink import allowed

PREFIXES = ["https://sink.example/api/sink", "http://127.0.0.1:8080"]


@pytest.mark.parametrize(
    "url",
    [
        "https://sink.example/api/sink",
        "https://sink.example/api/sink/c1",
        "https://SINK.example:443/api/sink/c1/",
        "http://127.0.0.1:8080/anything",
    ],
)
def test_url_below_a_prefix_is_allowed(url: str) -> None:
    assert allowed(url, PREFIXES)


@pytest.mark.parametrize(
    "url",
    [
        "https://sink.example/api/sinking",
        "https://sink.example/api",
        "http://sink.example/api/sink",
        "https://sink.example:8443/api/sink",
        "https://sink.example.evil/api/sink",
        "https://sink.example@evil/api/sink",
        "http://127.0.0.1:8080@evil/",
        "http://127.0.0.1:8081/",
        "https://sink.example/api/sink/../../other",
        "https://sink.example/api/sink/%2e%2e/other",
        "https://sink.example/api/sink/..%2fother",
        "https://sink.example/api/sink\\..\\other",
        "https://sink.example/api/sink?to=other",
        "https://sink.example/api/sink#other",
    ],
)
def test_url_beside_every_prefix_is_refused(url: str) -> None:
    assert not allowed(url, PREFIXES)


def test_nothing_is_allowed_without_prefixes() -> None:
    assert not allowed("http://127.0.0.1:8080/", [])
