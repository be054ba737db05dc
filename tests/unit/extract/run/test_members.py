"""Fields and collections: what is missing, what is recovered, what is told."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from comity.extract.run import Failure, Program, Result, RunWarning, SnapshotOptions
from tests.unit.extract.run.programs import apply, collection, extractor, failure, field, program, result

PAGE = "<h1>A</h1><p class=x title=t>one</p><p class=y>two</p>"


def test_members_come_in_source_order() -> None:
    found = result(PAGE, field("z", "h1"), collection("m", "p", field("text", None)), field("a", ".y"))
    assert list(found.value) == ["z", "m", "a"]
    assert found.value == {"z": "A", "m": [{"text": "one"}, {"text": "two"}], "a": "two"}
    assert (found.warnings, found.partial) == ((), False)


def test_text_is_all_descendants_untrimmed_and_br_adds_nothing() -> None:
    html = "<h1> a<b>b</b><br>c\n<!-- no --></h1>"
    assert result(html, field("t", "h1"), field("h", "h1", value="html")).value == {
        "t": " abc\n",
        "h": " a<b>b</b><br>c\n<!-- no -->",
    }


def test_match_one_refuses_two_and_first_takes_the_first() -> None:
    found = failure(PAGE, field("t", "p"))
    assert (found.code, found.path) == ("E_SELECTOR_CARDINALITY", "output.t")
    assert result(PAGE, field("t", "p", match="first")).value == {"t": "one"}


def test_fields_that_share_a_selector_see_the_same_elements() -> None:
    rows = collection(
        "rows", "p", field("text", "a"), field("link", "a", value="@href"), field("first", "a", match="first")
    )
    found = result("<p><a href=1>x</a><p><a href=2>y</a>", rows)
    assert found.value["rows"] == [
        {"text": "x", "link": "1", "first": "x"},
        {"text": "y", "link": "2", "first": "y"},
    ]


@pytest.mark.parametrize(("select", "value"), [("em", "text"), ("em", "html"), ("h1", "@title")])
def test_missing_fails_when_required_and_else_is_default_or_null(select: str, value: str) -> None:
    found = failure(PAGE, field("t", select, value=value))
    assert (found.code, found.path) == ("E_REQUIRED_VALUE_MISSING", "output.t")
    optional = result(PAGE, field("t", select, value=value, required=False))
    assert (optional.value, optional.partial, optional.warnings) == ({"t": None}, False, ())
    default = result(PAGE, field("t", select, value=value, required=False, default="d", on_error="default"))
    assert (default.value, default.partial) == ({"t": "d"}, False)


def test_an_empty_attribute_is_not_missing() -> None:
    assert result("<p title>x</p>", field("t", "p", value="@title")).value == {"t": ""}


def test_on_error_has_no_say_in_what_is_missing() -> None:
    found = failure(PAGE, field("t", "em", on_error="warn", type_="string?"))
    assert found.code == "E_REQUIRED_VALUE_MISSING"


def test_on_error_recovers_by_its_policy() -> None:
    number = apply("parse-int", as_="u8", gives="u8")
    found = failure(PAGE, field("n", "h1", number, type_="u8"))
    assert (found.code, found.path) == ("E_TRANSFORM", "output.n")
    null = result(PAGE, field("n", "h1", number, type_="u8", required=False))
    assert (null.value, null.partial) == ({"n": None}, True)
    assert [one.code for one in null.warnings] == ["W_PARTIAL_EXTRACTION"]
    warned = result(PAGE, field("n", "h1", number, type_="u8", required=False, on_error="warn"))
    assert [(one.code, one.path) for one in warned.warnings] == [
        ("W_ERROR_RECOVERED", "output.n"),
        ("W_PARTIAL_EXTRACTION", None),
    ]
    default = result(PAGE, field("n", "h1", number, type_="u8", required=False, default=7, on_error="default"))
    assert (default.value, default.partial) == ({"n": 7}, True)


def test_a_selector_that_matches_too_much_is_recovered_too() -> None:
    found = result(PAGE, field("t", "p", required=False, on_error="warn"))
    assert found.value == {"t": None}
    assert found.warnings[0].message.startswith("E_SELECTOR_CARDINALITY at output.t: 2 elements match 'p'")


def test_a_bad_row_fails_all_or_is_dropped_and_told() -> None:
    html = "<li>1<li>x<li>3"
    number = field("n", None, apply("parse-int", as_="u8", gives="u8"), type_="u8")
    found = failure(html, collection("rows", "li", number))
    assert (found.code, found.path) == ("E_TRANSFORM", "output.rows[1].n")
    dropped = result(html, collection("rows", "li", number, on_row_error="skip"))
    assert dropped.value == {"rows": [{"n": 1}, {"n": 3}]}
    assert dropped.partial
    first = dropped.warnings[0]
    assert (first.code, first.path, first.row) == ("W_ROW_SKIPPED", "output.rows", 1)
    assert "output.rows[1].n" in first.message


def test_a_missing_required_field_drops_its_row() -> None:
    found = result("<li><b>1</b><li>x", collection("rows", "li", field("n", "b"), on_row_error="skip"))
    assert found.value == {"rows": [{"n": "1"}]}


def test_nested_rows_have_paths_of_their_own() -> None:
    html = "<ul><li>a</ul><ul><li>b<li><i>c</i><i>d</i></ul>"
    inner = collection("inner", "li", field("i", "i", required=False, on_error="warn"))
    found = result(html, collection("outer", "ul", inner))
    assert found.value == {"outer": [{"inner": [{"i": None}]}, {"inner": [{"i": None}, {"i": None}]}]}
    assert found.warnings[0] == RunWarning(
        "W_ERROR_RECOVERED", found.warnings[0].message, "output.outer[1].inner[1].i", None
    )


def test_a_failing_nested_row_drops_the_outer_one_that_skips() -> None:
    html = "<ul><li>a</ul><ul><li><b>b</b></ul>"
    inner = collection("inner", "li", field("b", "b"))
    found = result(html, collection("outer", "ul", inner, field("n", "b"), on_row_error="skip"))
    assert found.value == {"outer": [{"inner": [{"b": "b"}], "n": "b"}]}
    assert (found.warnings[0].path, found.warnings[0].row) == ("output.outer", 0)
    assert "output.outer[0].inner[0].b" in found.warnings[0].message


def test_rows_are_counted_after_dropping() -> None:
    html = "<li><b>1</b><li>x"
    row = field("n", "b")
    assert result(html, collection("rows", "li", row, on_row_error="skip", min_items=1)).value["rows"]
    found = failure(html, collection("rows", "li", row, on_row_error="skip", min_items=2))
    assert (found.code, found.path) == ("E_COLLECTION_CARDINALITY", "output.rows")
    assert result(html, collection("rows", "li", row, on_row_error="skip", max_items=1)).value["rows"]
    assert failure(html, collection("rows", "li", max_items=1)).code == "E_COLLECTION_CARDINALITY"
    assert failure("<p>", collection("rows", "li", row, required=True)).code == "E_COLLECTION_CARDINALITY"
    assert result("<p>", collection("rows", "li", row)).value == {"rows": []}


def test_output_of_the_wrong_type_is_an_error_of_the_field() -> None:
    found = failure(PAGE, field("t", "h1", type_="u8"))
    assert (found.code, found.path) == ("E_OUTPUT_TYPE", "output.t")
    assert result(PAGE, field("t", "h1", type_="unknown")).value == {"t": "A"}


def test_a_program_that_needs_a_browser_is_refused_before_anything() -> None:
    clicks = Program.prepare(extractor(field("t", "h1"), clicks=True))
    assert isinstance(clicks, Program)
    refused = clicks.extract_snapshot(PAGE)
    assert isinstance(refused, Failure)
    assert (refused.code, refused.path) == ("E_SNAPSHOT_UNSUPPORTED", "source.workflow")
    script = program(collection("rows", "p", field("t", None, value="js"))).extract_snapshot(PAGE)
    assert isinstance(script, Failure)
    assert (script.code, script.path) == ("E_SNAPSHOT_UNSUPPORTED", "output.t")


@pytest.mark.parametrize(("select", "code"), [("p:hover", "E_SELECTOR_UNSUPPORTED"), ("p[", "E_SELECTOR_INVALID")])
def test_a_program_whose_selector_is_wrong_is_not_prepared(select: str, code: str) -> None:
    for member in (field("t", select), collection("t", select, field("x", None))):
        refused = Program.prepare(extractor(member))
        assert isinstance(refused, Failure)
        assert (refused.code, refused.path) == (code, "output.t")


class _AfterSome:
    """Set after it was asked `looks` times."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("looks", range(7))
def test_cancelling_ends_it_at_every_boundary_and_nothing_recovers(looks: int) -> None:
    rows = collection("rows", "p", field("t", None, required=False, on_error="warn"), on_row_error="skip")
    found = failure(PAGE, field("a", "h1"), rows, cancellation=_AfterSome(looks))
    assert found.code == "E_EXECUTION_CANCELED"
    assert result(PAGE, field("a", "h1"), rows, cancellation=_AfterSome(7)).value["a"] == "A"


def test_what_is_not_cancelled_runs() -> None:
    event = Event()
    assert result(PAGE, field("a", "h1"), cancellation=event).value == {"a": "A"}
    event.set()
    assert failure(PAGE, field("a", "h1"), cancellation=event).path is None


def test_inputs_are_not_needed_but_checked_when_given() -> None:
    from comity.extract.ir.program import Input
    from tests.unit.extract.run.programs import SPAN

    declared = (Input(name="page", type="int", required=True, span=SPAN),)
    prepared = program(field("a", "h1"), inputs=declared)
    assert isinstance(prepared.extract_snapshot(PAGE), Result)
    assert isinstance(prepared.extract_snapshot(PAGE, {"page": 3}), Result)
    for given, code in (
        ({}, "E_INPUT_REQUIRED"),
        ({"page": "3"}, "E_INPUT_TYPE"),
        ({"page": 3, "x": 1}, "E_INPUT_UNKNOWN"),
    ):
        refused = prepared.extract_snapshot(PAGE, given)
        assert isinstance(refused, Failure)
        assert refused.code == code
    assert isinstance(prepared.extract_snapshot(PAGE, {"page": True}), Failure)


def test_limits_end_what_would_not() -> None:
    html = "<div>" * 300 + "x" * 1000
    rows = collection("rows", "div", field("t", None, required=False), on_row_error="skip")
    assert len(result(html, rows).value["rows"]) == 300
    assert failure(html, rows, max_rows=299).code == "E_FIELD_EXECUTION"
    assert failure(html, rows, max_text_chars=299_999).code == "E_FIELD_EXECUTION"
    assert len(result(html, rows, max_text_chars=300_000, max_rows=300).value["rows"]) == 300
    timed_out = failure(html, rows, timeout_s=0.0)
    assert (timed_out.code, timed_out.path) == ("E_TIMEOUT", "output")


def test_one_program_runs_in_several_threads_at_once() -> None:
    rows = collection("rows", "p", field("t", "b", apply("trim")), field("l", "b", value="@id"), on_row_error="skip")
    prepared = program(rows)
    pages = [f"<p><b id={number}> {number}</b>" * 200 + "<p>x" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(prepared.extract_snapshot, pages))
    for number, one in enumerate(found):
        assert isinstance(one, Result)
        assert one.value == {"rows": [{"t": str(number), "l": str(number)}] * 200}
        assert one.warnings[0].row == 200


def test_garbage_collection_is_as_it_was_afterwards() -> None:
    import gc

    assert gc.isenabled()
    program(field("a", "h1")).extract_snapshot(PAGE, None, SnapshotOptions())
    program(field("a", "em")).extract_snapshot(PAGE)
    assert gc.isenabled()
