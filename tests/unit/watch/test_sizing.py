"""How many workers a day needs, from a rehearsal."""

import pytest

from comity.watch.rules.sizing import Rehearsed, sizing


@pytest.mark.parametrize(
    ("visits_a_day", "workers"), [(None, None), (1, 1), (86_400, 1), (86_401, 2), (500_000, 6), (0, 1)]
)
def test_workers_are_enough_for_the_day_and_never_none(visits_a_day: float | None, workers: int | None) -> None:
    found = sizing(Rehearsed(pages=60, elapsed_s=60, busy_s=60, places=1), visits_a_day)
    assert found.workers == workers
    assert (found.pages_a_minute, found.full_pages_a_minute, found.taken_share) == (60, 60, 1)


def test_worker_that_had_too_little_to_do_is_sized_by_what_it_could_do() -> None:
    found = sizing(Rehearsed(pages=100, elapsed_s=100, busy_s=50, places=2), 10_000_000)
    assert (found.pages_a_minute, found.taken_share, found.full_pages_a_minute) == (60, 0.25, 240)
    assert found.workers == 29


def test_nothing_is_told_of_no_page() -> None:
    with pytest.raises(ValueError, match="no page"):
        sizing(Rehearsed(pages=0, elapsed_s=60, busy_s=0, places=64), 1000)
