"""What a page tells robots about its links."""

import pytest

from ledger.rules.robots_directives import RobotsDirective, page_forbids_following


@pytest.mark.parametrize(
    ("name", "value", "forbidden"),
    [
        ("robots", "nofollow", True),
        ("robots", " NOINDEX ,NoFollow", True),
        ("robots", "none", True),
        ("comity", "nofollow", True),
        ("Robots", "none", True),
        ("otherbot", "nofollow", False),
        ("robots", "noindex", False),
        ("robots", "all", False),
        ("robots", "nofollowing", False),
        ("robots", "", False),
        ("robots", "nofollow: yes", False),
    ],
)
def test_meta_element_forbids_following(name: str, value: str, forbidden: bool) -> None:
    assert page_forbids_following([RobotsDirective("meta", value, name)]) is forbidden


@pytest.mark.parametrize(
    ("value", "forbidden"),
    [
        ("nofollow", True),
        ("noindex, NONE", True),
        ("comity: nofollow", True),
        ("Comity : noindex, nofollow", True),
        ("*: nofollow", True),
        ("otherbot: nofollow", False),
        ("otherbot: noindex, nofollow", False),
        ("otherbot: noindex, comity: nofollow", True),
        ("comity: noindex, otherbot: nofollow", False),
        ("nofollow, otherbot: noindex", True),
        ("max-snippet: 5, nofollow", True),
        ("otherbot: max-snippet: 5, nofollow", False),
        ("unavailable_after: 25 Jun 2050 15:00:00 GMT, nofollow", True),
        ("unavailable_after: Sat, 25-Jun-50 15:00:00 GMT, nofollow", True),
        ("", False),
        (",,:,", False),
    ],
)
def test_header_forbids_following(value: str, forbidden: bool) -> None:
    assert page_forbids_following([RobotsDirective("header", value)]) is forbidden


def test_most_restrictive_of_several_wins() -> None:
    follow, not_follow = RobotsDirective("meta", "follow", "comity"), RobotsDirective("header", "nofollow")
    assert page_forbids_following([follow, not_follow])
    assert not page_forbids_following([follow, follow])
    assert not page_forbids_following([])
