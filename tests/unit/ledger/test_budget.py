"""How many pages a crawl may have."""

import pytest

from ledger.rules import budget
from ledger.rules.budget import Entry


@pytest.mark.parametrize(
    ("candidates", "known", "limit", "urls", "cut"),
    [
        (["a", "b"], [], 3, ("a", "b"), False),
        (["a", "b"], [], 2, ("a", "b"), False),
        (["a", "b", "c"], [], 2, ("a", "b"), True),
        (["a", "b", "b", "a"], [], 2, ("a", "b"), False),
        (["a", "b"], ["a"], 2, ("b",), False),
        (["a", "b", "c"], ["a"], 2, ("b",), True),
        (["a"], ["a"], 1, (), False),
        (["b"], ["a"], 1, (), True),
        (["b"], ["a", "c"], 1, (), True),
        ([], [], 1, (), False),
    ],
)
def test_admit_fills_the_room_and_tells_when_it_cut(
    candidates: list[str], known: list[str], limit: int, urls: tuple[str, ...], cut: bool
) -> None:
    assert budget.admit(candidates, known, limit) == Entry(urls, cut)


@pytest.mark.parametrize(
    ("asked", "targets", "pages"),
    [(30, None, 30), (1, None, 1), (30, 5, 30), (30, 30, 30), (30, 31, 31), (30, 10_000, 10_000), (30, 20_000, 10_000)],
)
def test_max_pages_is_never_below_a_target_list(asked: int, targets: int | None, pages: int) -> None:
    assert budget.max_pages(asked, targets) == pages


@pytest.mark.parametrize(
    ("asked", "from_targets", "depth"), [(None, False, 2), (None, True, 0), (3, True, 3), (0, False, 0)]
)
def test_max_depth_defaults_to_the_pages_themselves_for_targets(
    asked: int | None, from_targets: bool, depth: int
) -> None:
    assert budget.max_depth(asked, from_targets) == depth
