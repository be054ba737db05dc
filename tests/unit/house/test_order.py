"""Tests that share a server are one worker's; what is long comes early."""

from pathlib import Path

import pytest

from tests.order import ALONE, ORDER, rank, unit_of

ROOT = Path(__file__).resolve().parents[3]


def test_tests_of_the_shared_stack_are_one_unit_and_those_with_a_stack_of_their_own_are_not() -> None:
    crawl, replay, kills = (f"tests/e2e/test_{name}.py::test_one[{name}]" for name in ("crawl", "replay", "kills"))
    assert unit_of(crawl) == unit_of(replay)
    assert unit_of(kills) == "tests/e2e/test_kills.py"
    assert unit_of("tests/unit/a/test_b.py::test_c[d::e]") == "tests/unit/a/test_b.py"


def test_the_stack_comes_first_those_who_would_find_it_running_later_and_units_last() -> None:
    names = [
        "tests/e2e/test_crawl.py::test_one",
        "tests/integration/flows/test_blocks.py::test_one",
        "tests/integration/ledger/test_rights.py::test_one",
        "tests/e2e/test_kills.py::test_one",
        "tests/integration/capture/test_calls.py::test_one",
        "tests/unit/archive/test_warc.py::test_one",
        "tests/slow/test_kills.py::test_one",
    ]
    assert [rank(name) for name in names] == sorted({rank(name) for name in names})


@pytest.mark.parametrize("path", [*ALONE, *ORDER])
def test_what_is_named_is_there(path: str) -> None:
    assert (ROOT / path).exists()
