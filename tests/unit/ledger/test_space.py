"""When a crawl has to end for want of room."""

import pytest

from ledger.rules.space import below_floor, no_next_level, over_quota


@pytest.mark.parametrize(
    ("kept_bytes", "max_bytes", "over"), [(0, None, False), (10**15, None, False), (100, 100, False), (101, 100, True)]
)
def test_quota_ends_a_crawl_once_it_is_exceeded(kept_bytes: int, max_bytes: int | None, over: bool) -> None:
    ending = over_quota(kept_bytes=kept_bytes, max_bytes=max_bytes, captured=1)
    assert (ending is not None) is over


def test_quota_is_a_limit_and_no_failure_unless_nothing_was_captured() -> None:
    ending = over_quota(kept_bytes=101, max_bytes=100, captured=3)
    assert ending is not None
    assert (ending.state, ending.stop_reason) == ("succeeded", "max_bytes")
    assert ending.error is not None
    assert "101" in ending.error
    assert "100" in ending.error
    nothing = over_quota(kept_bytes=101, max_bytes=100, captured=0)
    assert nothing is not None
    assert nothing.state == "failed"


@pytest.mark.parametrize(("free_bytes", "forbids"), [(None, False), (1000, False), (1001, False), (999, True)])
def test_floor_forbids_below_itself_alone(free_bytes: int | None, forbids: bool) -> None:
    reason = below_floor(free_bytes=free_bytes, min_free_bytes=1000)
    assert (reason is not None) is forbids
    if reason is not None:
        assert "LEDGER_MIN_FREE_BYTES" in reason


def test_level_that_finds_no_room_ends_the_crawl_with_its_reason() -> None:
    ending = no_next_level(depth=2, lacking="999 bytes are free")
    assert (ending.state, ending.stop_reason) == ("failed", "no_space")
    assert ending.error == "no level 2: 999 bytes are free"
