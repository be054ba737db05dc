import pytest

from comity.cli.stack.restart import GiveUp, RestartPolicy, StartAgain, after_death, cannot_start

POLICY = RestartPolicy(first_delay_s=0.5, longest_delay_s=3.0, limit=5, window_s=100.0)


@pytest.mark.parametrize(
    ("deaths_at_s", "decision"),
    [
        ([0], StartAgain(0.5)),
        ([0, 1], StartAgain(1.0)),
        ([0, 1, 2], StartAgain(2.0)),
        ([0, 1, 2, 3], StartAgain(3.0)),  # 4 s, cut at the longest
        ([0, 1, 2, 3, 4], GiveUp(5, 100.0)),
        ([0, 1, 2, 3, 99.9], GiveUp(5, 100.0)),
        ([0, 1, 2, 3, 100], StartAgain(3.0)),  # the first is out of the window
        ([0, 1, 2, 3, 1000], StartAgain(0.5)),  # long ago is forgotten
    ],
)
def test_what_follows_a_death(deaths_at_s: list[float], decision: object) -> None:
    assert after_death(deaths_at_s, POLICY) == decision


def test_a_decision_without_a_death_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the death"):
        after_death([], POLICY)


@pytest.mark.parametrize(
    ("status", "was_ready", "final"), [(2, False, True), (2, True, False), (1, False, False), (-9, False, False)]
)
def test_bad_settings_are_not_tried_again(status: int, was_ready: bool, final: bool) -> None:
    assert cannot_start(status, was_ready=was_ready) is final
