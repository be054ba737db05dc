"""Who may speak for a level."""

import pytest

from comity.contract.ledger import CrawlState
from ledger.rules.fence import Claim, Holder, may_fail, over, stale


@pytest.mark.parametrize(
    ("held_by", "claim", "ours"),
    [
        (None, Claim(1, 1, "r"), True),
        ("r", Claim(1, 1, "r"), True),
        ("r", Claim(1, 1, "other"), False),
        ("r", Claim(0, 1, "r"), False),
        ("r", Claim(2, 1, "r"), False),
        ("r", Claim(1, 2, "r"), False),
        (None, Claim(0, 1, "r"), False),
    ],
)
def test_stale_unless_depth_attempt_and_run_are_the_levels(held_by: str | None, claim: Claim, ours: bool) -> None:
    assert (stale(Holder("running", 1, 1, held_by, "dispatched"), claim) is None) is ours


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_over_once_the_crawl_has_ended(state: CrawlState) -> None:
    assert over(Holder("running", 0, 1, None, None)) is None
    assert state in (over(Holder(state, 0, 1, None, None)) or "")


@pytest.mark.parametrize(
    ("state", "run_id", "flow_run_id", "speaker", "may"),
    [
        ("running", None, None, "r", True),
        ("running", None, "r", "r", True),
        ("running", None, "dispatched", "by-hand", False),
        ("running", "r", "dispatched", "r", True),
        ("running", "r", "dispatched", "dispatched", False),
        ("cancelled", "r", "r", "r", False),
    ],
)
def test_may_fail_only_by_the_levels_own_run(
    state: CrawlState, run_id: str | None, flow_run_id: str | None, speaker: str, may: bool
) -> None:
    assert (may_fail(Holder(state, 0, 1, run_id, flow_run_id), Claim(0, 1, speaker)) is None) is may
