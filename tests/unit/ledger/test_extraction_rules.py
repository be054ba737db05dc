"""What follows a run that extracted, which run speaks for a crawl, and which programs and pages are for crawls."""

import pytest

from comity.extract import compile  # noqa: A004 - as in `re.compile`
from ledger.rules.extraction_runs import NewestRun, OpenRun, RunSoFar, fruitless_after, is_final, state, why_stale
from ledger.rules.extractors import Pin, PinnedPatterns, why_not_for_crawls
from tests.fakes.extractor_programs import program


@pytest.mark.parametrize(
    ("how", "brought_results", "fruitless", "final"),
    [
        ("crashed", False, 0, False),
        ("silent", False, 1, False),
        ("lost", False, 2, True),
        ("failed", False, 2, True),
        ("crashed", True, 2, False),
        ("cancelled", True, 0, True),
    ],
)
def test_another_run_follows_unless_three_brought_nothing_or_somebody_cancelled(
    how: str, brought_results: bool, fruitless: int, final: bool
) -> None:
    assert is_final(how, RunSoFar(brought_results, fruitless)) is final  # type: ignore[arg-type]


def test_fruitless_runs_are_counted_in_a_row() -> None:
    assert fruitless_after(RunSoFar(brought_results=False, fruitless=1)) == 2
    assert fruitless_after(RunSoFar(brought_results=True, fruitless=1)) == 0


@pytest.mark.parametrize(
    ("current", "reason"),
    [
        (None, "has ended"),
        (OpenRun(2, None), "has ended"),
        (OpenRun(1, "other"), "flow run other"),
        (OpenRun(1, "mine"), None),
        (OpenRun(1, None), None),
    ],
)
def test_one_flow_run_speaks_for_a_crawl(current: OpenRun | None, reason: str | None) -> None:
    said = why_stale(current, number=1, run_id="mine")
    assert said is None if reason is None else reason in str(said)


@pytest.mark.parametrize(
    ("pending", "newest", "word"),
    [
        (0, None, "idle"),
        (3, None, "waiting"),
        (3, NewestRun(ended=False, heard=False, final=False), "waiting"),
        (0, NewestRun(ended=False, heard=True, final=False), "running"),
        (0, NewestRun(ended=True, heard=True, final=False), "idle"),
        (3, NewestRun(ended=True, heard=True, final=False), "waiting"),
        (3, NewestRun(ended=True, heard=True, final=True), "stopped"),
        (0, NewestRun(ended=True, heard=True, final=True), "idle"),
    ],
)
def test_state_is_one_word(pending: int, newest: NewestRun | None, word: str) -> None:
    assert state(pending, newest) == word


def test_patterns_are_searched_for_in_both_urls_of_a_page() -> None:
    patterns = PinnedPatterns([Pin(0, "."), Pin(1, "^https://a/"), Pin(2, "/moved$")])
    assert patterns.places("http://a/x", None) == [0]
    assert patterns.places("http://a/x", "https://a/moved") == [0, 1, 2]
    assert patterns.places("https://a/", "https://b/") == [0, 1]


@pytest.mark.parametrize("policy", ["none", "optional", "required"])
def test_only_a_required_session_keeps_a_program_from_crawls(policy: str) -> None:
    source = f'source "html" {{ fetch mode="http" url="https://a.test/"; session policy="{policy}" }}'
    found = compile(program(source=source)).program
    assert found is not None
    reasons = list(why_not_for_crawls(found))
    assert bool(reasons) is (policy == "required")
