"""Is it an update? Every true change with its right lines, and nothing that is none."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.contract.watch_found import Diff, DiffHunk
from comity.watch.rules.diff import blocks, unordered_blocks
from comity.watch.rules.judging import Changed, Unchanged, Version, hidden_lines, judge, learn
from comity.watch.rules.rendering import as_html, as_text
from comity.watch.rules.settings import ContentSettings
from comity.watch.rules.volatile import Volatile

WHOLE = ContentSettings()
NOTHING = Volatile(basis=WHOLE.basis)
THEN = datetime(2026, 11, 30, 10, 12, 40, tzinfo=UTC)
NOW = datetime(2026, 12, 1, 9, 47, 5, tzinfo=UTC)
SHORT_LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12)


def version(*lines: str, at: datetime = THEN, truncated: bool = False) -> Version:
    return Version(lines, at, truncated)


def told(before: Version, after: Version, settings: ContentSettings = WHOLE, known: Volatile = NOTHING) -> Diff | None:
    verdict = judge(before, after, settings, known)
    return verdict.diff if isinstance(verdict, Changed) else None


def changed_lines(diff: Diff | None) -> list[tuple[list[str], list[str]]]:
    assert diff is not None
    return [(hunk.removed, hunk.added) for hunk in diff.hunks]


def test_diff_names_lines_and_places() -> None:
    diff = told(version("h", "a", "b", "c"), version("h", "a", "x", "c", "d", at=NOW))
    assert diff is not None
    assert as_text(diff) == "@@ -3,1 +3,1 @@\n-b\n+x\n@@ -5,0 +5,1 @@\n+d\n"
    assert (diff.removed_lines, diff.added_lines, diff.truncated) == (1, 2, False)


@given(SHORT_LINES, SHORT_LINES)
def test_blocks_turn_one_version_into_the_other(before: list[str], after: list[str]) -> None:
    rebuilt, at = [], 0
    for block in blocks(before, after):
        assert block.before_from >= at
        rebuilt += before[at : block.before_from] + after[block.after_from : block.after_to]
        at = block.before_to
    assert rebuilt + before[at:] == after
    assert bool(blocks(before, after)) == (before != after)


@given(SHORT_LINES, SHORT_LINES)
def test_unordered_blocks_are_empty_exactly_for_the_same_bag(before: list[str], after: list[str]) -> None:
    assert bool(unordered_blocks(before, after)) == (sorted(before) != sorted(after))


@given(st.lists(st.text(max_size=8), max_size=8), st.lists(st.text(max_size=8), max_size=8))
def test_verdict_never_fails_and_a_change_is_never_blank(before: list[str], after: list[str]) -> None:
    lines = [tuple(" ".join(one.split()) for one in each if one.strip()) for each in (before, after)]
    verdict = judge(version(*lines[0]), version(*lines[1], at=NOW), WHOLE, NOTHING)
    if isinstance(verdict, Changed):
        assert any(line.strip() for hunk in verdict.diff.hunks for line in (*hunk.removed, *hunk.added))


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ("Today is Monday, 30 November 2026", "Today is Tue, 1 December 2026", False),
        ("2026年11月30日(月)", "2026年12月1日(火)", False),
        ("Seen 3 hours ago", "Seen a day ago", False),
        ("It is 10:12", "It is 09:47", False),
        ("It is 7:12 pm", "It is 6:47 pm", False),
        ("Next concert: 5 December 2026", "Next concert: 12 December 2026", True),
        ("Opens at 10:00", "Opens at 11:00", True),
        ("Tickets 12.50", "Tickets 13.50", True),
    ],
)
def test_clock_of_the_page_is_no_update_and_other_dates_are(before: str, after: str, counts: bool) -> None:
    assert (told(version("h", before), version("h", after, at=NOW)) is not None) is counts


def test_date_that_stands_there_since_its_day_is_the_same_line() -> None:
    lines = ("Posted on 2026-11-30", "text")
    assert told(version(*lines), version(*lines, "more", at=NOW + timedelta(days=9))) is not None
    assert changed_lines(told(version(*lines), version(*lines, "more", at=NOW + timedelta(days=9)))) == [([], ["more"])]


def test_digits_alone_do_not_count_where_masked() -> None:
    masked = ContentSettings(digits_count=False)
    assert told(version("In stock: 9", "x"), version("In stock: 1,234", "x", at=NOW), masked) is None
    assert told(version("In stock: 9"), version("Sold out: 9", at=NOW), masked) is not None


def test_order_does_not_count_where_it_is_not_to() -> None:
    loose = ContentSettings(order_counts=False)
    assert told(version("a", "b", "c"), version("c", "a", "b", at=NOW), loose) is None
    assert changed_lines(told(version("a", "b"), version("b", "a", "a", at=NOW), loose)) == [([], ["a"])]
    assert told(version("a", "b"), version("b", "a", at=NOW)) is not None


def test_ignored_lines_are_neither_compared_nor_shown() -> None:
    settings = ContentSettings(ignore=("^Ad:",))
    assert told(version("a", "Ad: x"), version("a", "Ad: y", at=NOW), settings) is None
    diff = told(version("a", "Ad: x"), version("b", "Ad: y", at=NOW), settings)
    assert changed_lines(diff) == [(["a"], ["b"])]


def test_two_fetches_teach_counters_and_places_of_advertisements() -> None:
    known = learn(version("h", "Visitors 12", "Ad one", "end"), version("h", "Visitors 13", "Ad two", "end"), WHOLE)
    before = version("h", "Visitors 13", "Ad two", "end")
    assert told(before, version("h", "Visitors 9,999", "Ad three", "end", at=NOW), known=known) is None
    news = told(before, version("h", "Visitors 14", "Ad four", "end", "news", at=NOW), known=known)
    assert changed_lines(news) == [([], ["news"])]
    assert Volatile.of_lines(known.as_lines()) == known
    assert hidden_lines(before, known) == ["Visitors 13", "Ad two"]


def test_place_between_lines_that_repeat_hides_nothing() -> None:
    known = learn(
        version("Share", "Ad one", "Share", "b", "Share"), version("Share", "Ad two", "Share", "b", "Share"), WHOLE
    )
    diff = told(
        version("Share", "Ad two", "Share", "b", "Share"),
        version("Share", "Ad two", "Share", "NEWS", "Share"),
        known=known,
    )
    assert changed_lines(diff) == [(["b"], ["NEWS"])]


def test_digits_that_change_at_each_visit_are_a_counter_in_the_end() -> None:
    known, before, outcomes = NOTHING, version("Hits 100", "x"), []
    for number in range(6):
        after = version(f"Hits {number * 17 + 101}", "x", at=NOW)
        verdict = judge(before, after, WHOLE, known)
        outcomes.append(isinstance(verdict, Changed))
        known, before = verdict.volatile, after
    assert outcomes == [True, True, True, False, False, False]


def test_prices_of_a_site_that_tells_when_it_changes_are_always_told() -> None:
    known, before = NOTHING, version("Price 100", "x")
    for number in range(8):
        after = version(f"Price {number * 17 + 101}", "x", at=NOW)
        verdict = judge(before, after, WHOLE, known, from_history=False)
        assert isinstance(verdict, Changed)
        known, before = verdict.volatile, after


def test_visit_without_a_change_ends_a_streak() -> None:
    known, before = NOTHING, version("Hits 1", "x")
    for number in range(2, 9):
        after = version(f"Hits {number}", "x", at=NOW)
        verdict = judge(before, after, WHOLE, known)
        assert isinstance(verdict, Changed)
        known = judge(after, after, WHOLE, verdict.volatile).volatile
        before = after


def test_lines_that_keep_coming_back_are_told_no_more() -> None:
    known, outcomes = NOTHING, []
    versions = [version("h", "One", "t"), version("h", "Two", "t", at=NOW)]
    for number in range(7):
        verdict = judge(versions[number % 2], versions[(number + 1) % 2], WHOLE, known)
        outcomes.append(isinstance(verdict, Changed))
        known = verdict.volatile
    assert outcomes[:2] == [True, True]
    assert not any(outcomes[5:])


def test_lines_pushed_over_the_end_of_what_is_kept_are_no_change() -> None:
    before = version("a", "b", "c", truncated=True)
    assert changed_lines(told(before, version("new", "a", "b", at=NOW, truncated=True))) == [([], ["new"])]
    assert told(version("a", "b", "c", truncated=True), version("a", "b", at=NOW, truncated=True)) is None
    assert changed_lines(told(version("a", "b", "c"), version("a", "b", at=NOW))) == [(["c"], [])]


def test_text_of_another_basis_is_taken_over_untold() -> None:
    verdict = judge(version("a"), version("b", at=NOW), WHOLE, Volatile(basis="0:main:", shapes=frozenset({"x"})))
    assert verdict == Unchanged(NOTHING, same=False)


def test_large_versions_are_compared_within_bounds() -> None:
    before = version(*(str(number) for number in range(24_000)))
    diff = told(before, version(*(f"x{number}" for number in range(24_000)), at=NOW))
    assert diff is not None
    assert (diff.removed_lines, diff.added_lines, diff.truncated) == (24_000, 24_000, True)
    assert sum(len(hunk.removed) + len(hunk.added) for hunk in diff.hunks) <= 2_000
    long = told(version("x" * 300_000), version("y" * 300_000, at=NOW))
    assert long is not None
    assert (long.truncated, len(long.hunks[0].added[0])) == (True, 2_000)


@pytest.mark.parametrize(
    "line", ["garbage", "slot x", "streak a -1", "gone a ²", "", "shape ", "slot a 99999999999999999999"]
)
def test_learnt_lines_that_mean_nothing_are_passed_over(line: str) -> None:
    assert Volatile.of_lines([line, "basis 1:whole:"]).basis == "1:whole:"


def test_html_of_a_diff_escapes_everything() -> None:
    hunk = DiffHunk(before_line=1, after_line=1, removed=["<script>a</script>"], added=['" onload="x'])
    html = as_html(Diff(hunks=[hunk], removed_lines=9, added_lines=1, truncated=True))
    assert "<script" not in html
    assert "<del>-&lt;script&gt;a&lt;/script&gt;</del>" in html
    assert "<ins>+&quot; onload=&quot;x</ins>" in html
    assert "9 lines removed" in html
