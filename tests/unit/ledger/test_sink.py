"""The write capability, and the names that a sink takes."""

from datetime import UTC, datetime, timedelta

import pytest

from ledger.rules.sink import lets_in, new_token, why_not_this_name

KEY = b"k" * 32
NOW = datetime(2030, 1, 1, tzinfo=UTC)
CRAWL = "c0123456789abcdef"


def test_token_lets_its_crawl_in_for_three_hours() -> None:
    token = new_token(KEY, CRAWL, NOW)
    assert lets_in(KEY, CRAWL, token, NOW)
    assert lets_in(KEY, CRAWL, token, NOW + timedelta(hours=3, seconds=-1))
    assert not lets_in(KEY, CRAWL, token, NOW + timedelta(hours=3))


def test_token_of_another_key_crawl_or_time_lets_nobody_in() -> None:
    token = new_token(KEY, CRAWL, NOW)
    expires, _, mac = token.partition(".")
    assert not lets_in(b"x" * 32, CRAWL, token, NOW)
    assert not lets_in(KEY, f"{CRAWL}0", token, NOW)
    for wrong in (
        "",
        ".",
        expires,
        f"{int(expires) + 1}.{mac}",
        f"0{expires}.{mac[:-1]}",
        f"{expires}.{mac}x",
        f"{expires}.{mac[::-1]}",
        f"٣{expires}.{mac}",
        f"{expires}.{mac}\n",
    ):
        assert not lets_in(KEY, CRAWL, wrong, NOW), wrong


@pytest.mark.parametrize(
    "rest",
    [".wacz", ".links.json", ".result.json", ".trace.jsonl", "_label.png", "_ラベル_b c.webp", ".html", ".mhtml"],
)
def test_names_that_captures_write_are_taken(rest: str) -> None:
    assert why_not_this_name(f"t0011223344556677_{CRAWL}.p1.1.2{rest}", CRAWL) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (f"t1_{CRAWL}.p1.1.1_{'x' * 240}.wacz", "255 bytes"),
        (f"t1_{CRAWL}.p1.1.1_{'字' * 80}.wacz", "255 bytes"),
        ("t1_c2.p1.1.1.wacz", "another crawl"),
        (f"t1_{CRAWL}x.p1.1.1.wacz", "another crawl"),
        *[
            (name, "form")
            for name in (
                "",
                ".",
                "..",
                f"../t1_{CRAWL}.p1.1.1.wacz",
                f"t1_{CRAWL}.p1.1.1_../../x.wacz",
                f"t1_{CRAWL}.p1.1.1_a\\b.wacz",
                f"t1_{CRAWL}.p1.1.1_a\x00b.wacz",
                f"t1_{CRAWL}.p1.1.1_a\nb.wacz",
                f"t1_{CRAWL}.p1.1.1__a.wacz",
                f"t1_{CRAWL}.p1.1.1.exe",
                f"t1_{CRAWL}.p1.1.1.wacz\n",
                f"t1_{CRAWL}.p1.1.wacz",
                f"_{CRAWL}.p1.1.1.wacz",
                f".t1_{CRAWL}.p1.1.1.wacz",
                "t1.wacz",
            )
        ],
    ],
)
def test_other_names_are_refused_and_told_why(name: str, why: str) -> None:
    assert why in (why_not_this_name(name, CRAWL) or "")
