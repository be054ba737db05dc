"""What is sent, and what of it follows a redirect where to."""

import pytest

from comity.polite.rules.requests import BadRequestError, outgoing
from comity.polite.rules.targets import target_of

SECRETS = {"authorization": "Bearer x", "cookie": "a=b"}


@pytest.mark.parametrize(
    ("before", "after", "follows"),
    [
        ("https://a.example/", "https://a.example/x", True),
        ("https://a.example/", "https://a.example:8443/", True),
        ("https://a.example/", "https://a.example./", True),
        ("https://a.example/", "https://sub.a.example/", True),
        ("https://a.example/", "https://deep.sub.a.example/", True),
        ("http://a.example/", "https://a.example/", True),
        ("http://a.example/", "http://a.example/", True),
        ("https://a.example/", "http://a.example/", False),
        ("https://sub.a.example/", "https://a.example/", False),
        ("https://a.example/", "https://ba.example/", False),
        ("https://a.example/", "https://a.example.evil.example/", False),
        ("https://example/", "https://a.example/", True),
        ("http://127.0.0.1/", "http://127.0.0.1:81/", True),
        ("http://0.0.1/", "http://127.0.0.1/", False),
    ],
)
@pytest.mark.parametrize("of_session", [True, False])
def test_credentials_follow_to_the_domain_and_below_alone(
    before: str, after: str, follows: bool, of_session: bool
) -> None:
    first, second = target_of(before), target_of(after)
    own, session = ({}, SECRETS) if of_session else (SECRETS, {})
    sent = outgoing(first, {"Accept": "x", **own}, {"X-Session": "s", **session}, {})
    assert sent.headers == {"accept": "x", "x-session": "s", **SECRETS}
    assert sent.after(first, second).headers == {"accept": "x", **(SECRETS if follows else {})}


def test_credentials_that_were_left_behind_stay_there() -> None:
    home, away = target_of("https://a.example/"), target_of("https://b.example/")
    sent = outgoing(home, {}, SECRETS, {}).after(home, away).after(away, home)
    assert not sent.headers


def test_cookies_are_joined_to_those_that_are_there() -> None:
    sent = outgoing(target_of("http://a.example/"), {"Cookie": "x=y"}, {}, {"a": "1", "b": ""})
    assert sent.headers == {"cookie": "x=y; a=1; b="}


@pytest.mark.parametrize(
    "name", ["Host", "connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding", "TE", ""]
)
def test_headers_of_the_connection_are_not_the_callers(name: str) -> None:
    with pytest.raises(BadRequestError, match="header"):
        outgoing(target_of("http://a.example/"), {name: "1"}, {}, {})


def test_message_names_the_header_and_not_its_value() -> None:
    with pytest.raises(BadRequestError, match="X-Token") as caught:
        outgoing(target_of("http://a.example/"), {}, {"X-Token": "s3cret\n"}, {})
    assert "s3cret" not in str(caught.value)
