"""When to look again, and whose a manifest in the store is."""

from datetime import UTC, datetime, timedelta

import pytest

from ledger.rules.adoption import Correlation, correlation_of, correlation_of_name, folders, worth_scanning
from ledger.rules.html_text import title_and_text
from ledger.rules.late import given_up, next_look

NOW = datetime(2030, 3, 1, 0, 30, tzinfo=UTC)
ENDING = ".result.json"


@pytest.mark.parametrize(("age_s", "wait_s"), [(0, 30), (59, 30), (100, 50), (7000, 3500), (100_000, 3600)])
def test_what_was_late_long_is_looked_for_seldom(age_s: float, wait_s: float) -> None:
    marked_at = NOW - timedelta(seconds=age_s)
    assert next_look(marked_at=marked_at, now=NOW, every_s=30) == NOW + timedelta(seconds=wait_s)


def test_manifest_is_given_up_at_its_limit() -> None:
    assert given_up(marked_at=NOW - timedelta(seconds=10), now=NOW, limit_s=10)
    assert not given_up(marked_at=NOW - timedelta(seconds=9), now=NOW, limit_s=10)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("t1_c1a.p2b.3.4.result.json", Correlation("c1a", "p2b", 3, 4)),
        ("t1_c1a.p2b.3.4_label_b.result.json", Correlation("c1a", "p2b", 3, 4)),
        ("t1_c1a.p2b.3.4.wacz", None),
        ("t1.result.json", None),
        ("t1_c1a.p2b.3.result.json", None),
        ("t1_c1a.p2b.0.4.result.json", None),
        ("t1_c1a.p2b.3.4x.result.json", None),
        ("t1_../../x.p2b.3.4.result.json", None),
    ],
)
def test_name_says_whose_a_manifest_is(name: str, expected: Correlation | None) -> None:
    assert correlation_of_name(name, ENDING) == expected


def test_correlation_is_read_whole() -> None:
    assert correlation_of("c1.p1.1.1") == Correlation("c1", "p1", 1, 1)
    for text in ("", "c1.p1.1", "c1.p1.1.1.1", "c1.p1.1.1\n", "C1.p1.1.1"):
        assert correlation_of(text) is None


def test_folders_are_the_sinks_and_the_days_since_the_crawl_began() -> None:
    assert folders("c1", NOW - timedelta(days=1), NOW) == ["sink/c1", "2030/03/01", "2030/02/28", "2030/02/27"]
    assert folders("c1", NOW + timedelta(hours=12), NOW + timedelta(hours=12)) == ["sink/c1", "2030/03/01"]
    assert len(folders("c1", NOW - timedelta(days=900), NOW)) == 63


@pytest.mark.parametrize(
    ("running", "finished_s", "unproved_s", "worth"),
    [
        (True, None, [None], False),
        (True, None, [], False),
        (True, None, [10], True),
        (True, None, [400], False),
        (False, 100, [None], True),
        (False, 100, [5000], True),
        (False, 10, [None], False),
        (False, 100, [], False),
        (False, 4000, [None], False),
    ],
)
def test_crawl_is_worth_a_scan_where_a_capture_may_lie_unreported(
    running: bool, finished_s: float | None, unproved_s: list[float | None], worth: bool
) -> None:
    def ago(seconds: float | None) -> datetime | None:
        return None if seconds is None else NOW - timedelta(seconds=seconds)

    found = worth_scanning(
        running=running,
        finished_at=ago(finished_s),
        unproved_at=[ago(one) for one in unproved_s],
        now=NOW,
        window=timedelta(hours=1),
    )
    assert found is worth


def test_html_gives_its_title_and_what_is_seen() -> None:
    html = (
        "<html><head><title>A &amp; B</title><style>p{}</style></head><body><script>no()</script>"
        "<p>Hel<b>lo</b></p><p>there</p><svg><text>no</text></svg><noscript>no</noscript></body>"
    )
    title, text = title_and_text(html)
    assert title == "A & B"
    assert text.split() == ["Hello", "there"]
    assert title_and_text("<head><title>t</title><body>seen")[1].split() == ["seen"]
    assert title_and_text("no markup")[1] == "no markup"
