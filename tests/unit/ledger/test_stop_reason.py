"""When a crawl is over, and why."""

import pytest

from comity.contract.ledger import StopReason
from ledger.rules.stop_reason import AfterLevel, Ending, after_level, ending, limit_that_bit


@pytest.mark.parametrize(
    ("depth", "max_depth", "entered", "cut", "before", "bitten", "over"),
    [
        (0, 2, 3, False, None, None, False),
        (0, 2, 0, False, None, None, True),
        (0, 2, 3, True, None, "max_pages", False),
        (0, 2, 0, True, None, "max_pages", True),
        (1, 2, 1, False, None, None, False),
        (2, 2, 0, False, None, "max_depth", True),
        (2, 2, 0, False, "max_pages", "max_pages", True),
        (0, 0, 0, False, None, "max_depth", True),
        (0, 0, 0, False, "max_pages", "max_pages", True),
        (1, 2, 0, False, "max_pages", "max_pages", True),
        (1, 2, 5, False, "max_pages", "max_pages", False),
    ],
)
def test_first_limit_that_bites_is_kept(
    depth: int,
    max_depth: int,
    entered: int,
    cut: bool,
    before: StopReason | None,
    bitten: StopReason | None,
    over: bool,
) -> None:
    after = after_level(depth=depth, max_depth=max_depth, entered=entered, cut=cut, bitten=before)
    assert after == AfterLevel(bitten, over)


def test_ending_with_one_capture_succeeds() -> None:
    assert ending({"captured": 1, "failed": 9, "skipped": 9}, None) == Ending("succeeded", "completed", None)
    assert ending({"captured": 1}, "max_pages") == Ending("succeeded", "max_pages", None)


def test_ending_with_nothing_captured_fails_and_counts() -> None:
    found = ending({"failed": 2, "skipped": 3}, "max_depth")
    assert (found.state, found.stop_reason) == ("failed", "failed")
    assert found.error == "nothing was captured: of 5 pages 2 failed, 3 skipped"


@pytest.mark.parametrize(
    ("stop_reason", "bitten", "limit"),
    [
        ("completed", None, None),
        ("max_pages", "max_pages", "max_pages"),
        ("max_depth", None, "max_depth"),
        ("max_depth", "max_pages", "max_depth"),
        ("failed", "max_pages", "max_pages"),
        ("failed", "max_depth", "max_depth"),
        ("failed", None, None),
    ],
)
def test_limit_that_bit_is_known_after_the_end(stop_reason: str, bitten: str | None, limit: str | None) -> None:
    assert limit_that_bit(stop_reason, bitten) == limit
