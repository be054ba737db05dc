"""Pages that mean harm end, as a result or as a code. Whether they end in time is for the suite's own time limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract.run import Failure, Program, Result, SnapshotOptions
from tests.unit.extract.run.programs import apply, collection, extractor, field

N = 50_000
PAGES: dict[str, str | bytes] = {
    "deep nesting": "<div>" * N + "x",
    "deep nesting of inline elements": "<b>" * N + "x",
    "deep lists": "<ul><li>" * N,
    "many attributes": f"<div {' '.join(f'a{number}=1' for number in range(N))}>x</div>",
    "one long attribute": f"<div class='{'a ' * (10 * N)}'>x</div>",
    "unclosed everything": "<a><b><i><p><table><select><option>" * 3000,
    "unclosed tag": "<div " + "a" * (20 * N),
    "unclosed comment": "<div>x" + "<!--" * N,
    "unclosed quote": "<div a='" + "<p>" * N,
    "NULs": b"\0" * (20 * N) + b"<div\0>\0x\0</div\0>",
    "misnested formatting": "<a><b><i></a></b></i>" * 5000,
    "tables in tables": "<table><tr><td>" * 5000,
    "foster parents": "<table>" + "x<div>y</div>" * 10_000,
    "many siblings": "<div></div>" * (4 * N),
    "siblings in depth": "<div><p></p>" * 20_000,
    "ampersands": "<div>" + "&" * (20 * N) + "&#" * N + "&notanentity;" * N,
    "one huge text": "<div>" + "x" * (100 * N),
    "templates in templates": "<template><div>" * 20_000,
    "angle brackets": "<" * (20 * N),
}
ROWS = collection(
    "rows", "div",
    field("text", None, apply("normalize-whitespace"), required=False),
    field("html", "p", value="html", required=False, match="first"),
    field("odd", "em ~ div p:nth-last-child(2n+1)", required=False),
    on_row_error="skip",
)  # fmt: skip
MEMBERS = (
    ROWS,
    field("wound", "em ~ div p", required=False),
    field("empty", "div:empty ~ div:empty", required=False),
    field("far", "span ~ div div ~ p", required=False, match="first"),
    field("class", ".nothing", value="@class", required=False),
    field("all", "html", apply("regex-replace", pattern="(x*)*y", replacement="$1"), required=False),
)
OPTIONS = SnapshotOptions(timeout_s=5, max_text_chars=50_000_000, max_rows=100_000)
PREPARED = Program.prepare(extractor(*MEMBERS))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", PAGES)
def test_hostile_page_ends(name: str) -> None:
    assert isinstance(PREPARED, Program)
    found = PREPARED.extract_snapshot(PAGES[name], None, OPTIONS)
    assert isinstance(found, Result) or found.code in ("E_TIMEOUT", "E_FIELD_EXECUTION")


CONTENT_TYPES = [
    "text/html",
    "text/html; charset=shift_jis",
    "a;charset=gb18030",
    "a;charset=utf-16",
    "a;charset=x",
    "",
]


@given(st.binary(max_size=400), st.sampled_from(CONTENT_TYPES))
def test_any_bytes_are_a_result_or_a_code(page: bytes, content_type: str) -> None:
    assert isinstance(PREPARED, Program)
    found = PREPARED.extract_snapshot(page, None, SnapshotOptions(content_type=content_type))
    assert isinstance(found, Result) or (isinstance(found, Failure) and found.code.startswith("E_"))


TAGS = [
    "<div>",
    "</div>",
    "<p>",
    "<table>",
    "<td>",
    "</b>",
    "<b>",
    "<template>",
    "<svg>",
    "<!--",
    "-->",
    "<textarea>\n\n",
    "&",
    "\0",
    "x",
]


@given(st.lists(st.sampled_from(TAGS), max_size=60))
def test_any_markup_is_a_result(pieces: list[str]) -> None:
    assert isinstance(PREPARED, Program)
    assert isinstance(PREPARED.extract_snapshot("".join(pieces)), Result)
