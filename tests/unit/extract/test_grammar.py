"""Every refusal of the language beside what is accepted in its place."""

import pytest

from comity import extract
from tests.unit.extract.programs import (
    BROWSER,
    SOURCE,
    VERSIONS,
    applied,
    codes,
    extractor,
    field,
    places,
    transform,
)

RIGHT = {
    "no members": extractor(),
    "one field": extractor(field()),
    "children in any order": f'extractor "a-1" {VERSIONS} {{ {field()}; input "a" type="int"; {SOURCE} }}',
    "an optional field is lifted": extractor(field(properties='type="string"')),
    "unknown takes null": extractor(field(properties='type="unknown"')),
    "a default with its policy": extractor(
        field('select "h1"; value "text"; on-error "default"', 'type="string" default="none"')
    ),
    "a row's own text": extractor('collection "rows" { select "li"; field "t" type="string" { value "text" } }'),
    "an attribute": extractor(field('select "a"; value "attr" name="href"')),
    "inner HTML": extractor(field('select "a"; value "html"')),
    "nested collections": extractor(
        'collection "a" min-items=1 max-items=1 { select "ul"; collection "b" required=#true { select "li"; '
        'field "t" type="string" { value "text" } } }'
    ),
    "braces in a URL": extractor(source='source "html" { fetch mode="http" url="https://example.org/{{a}}" }'),
    "an input in a URL": extractor(
        'input "a" type="string" required=#false default="x"',
        source='source "html" { fetch mode="http" url="https://example.org/{a}" }',
    ),
    "a session": extractor(source=SOURCE[:-1] + '; session policy="required" }'),
    "every step": extractor(
        source=BROWSER[:-1] + '; workflow { wait-for "a" state="hidden"; click "a" timeout-ms=1; fill "a" "b"; '
        'press "a" "Enter"; scroll 0 -1.5; wait-for-network-idle idle-ms=9223372036854; evaluate-js "() => 1" } }'
    ),
    "numbers": applied('apply "parse-float" as="float"; apply "assert-min" value=0', 'type="float" required=#true'),
    "a chain through null": applied('apply "empty-to-null"; apply "coalesce" value="x"'),
    "an array": applied('apply "split" separator=","', 'type="string[]" required=#true'),
    "a match": transform('match { case "a" "b"; case "c" "d"; default "" }'),
    "true is not one": transform('match { case "1" 1; default 0 }', 'input="string" output="u8"'),
    "an external": transform('external symbol="host_function"'),
    "transforms of transforms": extractor(
        'transform "a" input="string" output="string" { pipeline { apply "b" } }\n'
        'transform "b" input="string" output="string" { pipeline { apply "trim" } }\n'
        + field('select "h1"; value "text"; apply "a"')
    ),
}


@pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT.keys())
def test_right_program_has_no_errors(source: str) -> None:
    compilation = extract.compile(source)
    assert [one for one in compilation.diagnostics if one.severity == "error"] == []
    assert compilation.program is not None


WRONG = {
    "no root": ("", "E_DOCUMENT_ROOT"),
    "two roots": (extractor() + extractor(), "E_DOCUMENT_ROOT"),
    "a module is no program": (f'module "m" {VERSIONS} {{}}', "E_DOCUMENT_ROOT"),
    "a stranger at the top": ("page\n" + extractor(), "E_DOCUMENT_ROOT"),
    "name in capitals": (extractor().replace('"test"', '"Test"'), "E_IDENTIFIER_INVALID"),
    "a day that is none": (extractor().replace('n="2026-07-15"', 'n="2026-02-30"', 1), "E_DOCUMENT_VERSION_INVALID"),
    "a root's property": (extractor().replace("version=", "colour=1 version=", 1), "E_UNKNOWN_PROPERTY"),
    "no source": (f'extractor "a" {VERSIONS} {{}}', "E_ARGUMENT_COUNT"),
    "two sources": (extractor(SOURCE), "E_ARGUMENT_COUNT"),
    "source xml": (extractor(source=SOURCE.replace("html", "xml", 1)), "E_TYPE_MISMATCH"),
    "no fetch": (extractor(source='source "html"'), "E_ARGUMENT_COUNT"),
    "fetch mode": (extractor(source=SOURCE.replace('"http"', '"ftp"')), "E_TYPE_MISMATCH"),
    "relative URL": (extractor(source=SOURCE.replace("https://example.org", "")), "E_TEMPLATE_INVALID"),
    "URL of files": (extractor(source=SOURCE.replace("https:", "file:")), "E_TEMPLATE_INVALID"),
    "lone brace": (extractor(source=SOURCE.replace("org/", "org/}")), "E_TEMPLATE_INVALID"),
    "undeclared input": (extractor(source=SOURCE.replace("org/", "org/{a}")), "E_INPUT_UNDECLARED"),
    "session policy": (extractor(source=SOURCE[:-1] + '; session policy="x" }'), "E_TYPE_MISMATCH"),
    "workflow by HTTP": (extractor(source=SOURCE[:-1] + '; workflow { click "a" } }'), "E_BROWSER_CAPABILITY_REQUIRED"),
    "unknown step": (extractor(source=BROWSER[:-1] + '; workflow { hover "a" } }'), "E_UNKNOWN_NODE"),
    "timeout of nothing": (
        extractor(source=BROWSER[:-1] + '; workflow { click "a" timeout-ms=0 } }'),
        "E_TYPE_MISMATCH",
    ),
    "input type": (extractor('input "a" type="u8"'), "E_TYPE_UNKNOWN"),
    "input twice": (extractor('input "a" type="int"; input "a" type="int"'), "E_DUPLICATE_SYMBOL"),
    "optional input in the URL": (
        extractor('input "a" type="int" required=#false', source=SOURCE.replace("org/", "org/{a}")),
        "E_TEMPLATE_OPTIONAL_INPUT",
    ),
    "required input with default": (extractor('input "a" type="int" default=1'), "E_INPUT_REQUIRED_DEFAULT"),
    "default of another type": (extractor('input "a" type="int" required=#false default=1.5'), "E_DEFAULT_INVALID"),
    "unknown child": (extractor("colour"), "E_UNKNOWN_NODE"),
    "child of a leaf": (extractor(field('select "h1" { x }; value "text"')), "E_UNKNOWN_NODE"),
    "field without type": (extractor(field(properties="")), "E_FIELD_TYPE_REQUIRED"),
    "unknown type": (extractor(field(properties='type="u7" required=#true')), "E_TYPE_UNKNOWN"),
    "nullable twice": (extractor(field(properties='type="string??"')), "E_TYPE_UNKNOWN"),
    "no value": (extractor(field('select "h1"')), "E_VALUE_SOURCE_MISSING"),
    "two values": (extractor(field('select "h1"; value "text"; value "html"')), "E_VALUE_SOURCE_MULTIPLE"),
    "no select": (extractor(field('value "text"')), "E_SELECTOR_REQUIRED"),
    "two selects": (extractor(field('select "a"; select "b"; value "text"')), "E_ARGUMENT_COUNT"),
    "match all": (extractor(field('select "a" match="all"; value "text"')), "E_TYPE_MISMATCH"),
    "attr without name": (extractor(field('select "a"; value "attr"')), "E_ATTRIBUTE_NAME_REQUIRED"),
    "text with name": (extractor(field('select "a"; value "text" name="b"')), "E_UNKNOWN_PROPERTY"),
    "same name twice": (extractor(field() + "\n" + field()), "E_DUPLICATE_SYMBOL"),
    "required with default": (
        extractor(field(properties='type="string" required=#true default=""')),
        "E_DEFAULT_INVALID",
    ),
    "default without policy": (extractor(field(properties='type="string" default=""')), "E_ERROR_POLICY_INVALID"),
    "warn without null": (extractor(field('select "a"; value "text"; on-error "warn"')), "E_ERROR_POLICY_INVALID"),
    "default without default": (
        extractor(field('select "a"; value "text"; on-error "default"')),
        "E_ERROR_POLICY_INVALID",
    ),
    "selector that is none": (extractor(field('select "a >"; value "text"')), "E_SELECTOR_INVALID"),
    "selector of browsers": (extractor(field('select "a:hover"; value "text"')), "E_SELECTOR_UNSUPPORTED"),
    "rows without select": (
        extractor('collection "a" { field "b" type="string" { value "text" } }'),
        "E_SELECTOR_REQUIRED",
    ),
    "rows without members": (extractor('collection "a" { select "li" }'), "E_COLLECTION_EMPTY_SCHEMA"),
    "rows out of bounds": (
        extractor('collection "a" min-items=2 max-items=1 { select "li"; field "t" type="string" { value "text" } }'),
        "E_COLLECTION_BOUNDS",
    ),
    "negative rows": (
        extractor('collection "a" min-items=-1 { select "li"; field "t" type="string" { value "text" } }'),
        "E_TYPE_MISMATCH",
    ),
    "unknown transform": (applied('apply "own"'), "E_TRANSFORM_UNKNOWN"),
    "unknown alias": (applied('apply "common.own"'), "E_TRANSFORM_UNKNOWN"),
    "transform without name": (applied("apply"), "E_ARGUMENT_COUNT"),
    "transform of another type": (applied('apply "join" separator=""'), "E_TRANSFORM_TYPE_MISMATCH"),
    "null into trim": (applied('apply "empty-to-null"; apply "trim"'), "E_TRANSFORM_TYPE_MISMATCH"),
    "field of another type": (applied('apply "parse-int" as="u8"'), "E_TYPE_MISMATCH"),
    "missing property": (applied('apply "append"'), "E_TRANSFORM_ARGUMENT"),
    "unknown property": (applied('apply "trim" side="left"'), "E_TRANSFORM_ARGUMENT"),
    "property of another type": (applied('apply "append" value=1'), "E_TRANSFORM_ARGUMENT"),
    "values where there are none": (applied('apply "trim" "x"'), "E_TRANSFORM_ARGUMENT"),
    "no value to compare": (applied('apply "assert-enum"'), "E_TRANSFORM_ARGUMENT"),
    "value of another type": (applied('apply "assert-enum" 1'), "E_TRANSFORM_ARGUMENT"),
    "unknown target": (
        applied('apply "parse-int" as="u7"', 'type="unknown" required=#true'),
        "E_TRANSFORM_ARGUMENT",
    ),
    "radix": (applied('apply "parse-int" as="u8" radix=37', 'type="u8" required=#true'), "E_TRANSFORM_ARGUMENT"),
    "group that is not there": (
        applied('apply "regex-capture" pattern="(a)" group=2', 'type="string?"'),
        "E_TRANSFORM_ARGUMENT",
    ),
    "base that is no URL": (applied('apply "url-resolve" base="https://a:b/"'), "E_TRANSFORM_ARGUMENT"),
    "base that is relative": (applied('apply "url-resolve" base="/a"'), "E_TRANSFORM_ARGUMENT"),
    "regex": (applied('apply "assert-matches" pattern="("'), "E_REGEX_INVALID"),
    "regex flags": (applied('apply "assert-matches" pattern="a" flags="x"'), "E_REGEX_INVALID"),
    "transform called as a built-in": (
        transform('pipeline { apply "trim" }').replace('"own"', '"trim"'),
        "E_TRANSFORM_SHADOWS_BUILTIN",
    ),
    "transform without types": (transform('pipeline { apply "trim" }', 'input="string"'), "E_TYPE_UNKNOWN"),
    "transform without body": (transform(""), "E_ARGUMENT_COUNT"),
    "empty pipeline": (transform("pipeline {}"), "E_ARGUMENT_COUNT"),
    "pipeline of another type": (
        transform('pipeline { apply "parse-bool" }'),
        "E_TRANSFORM_TYPE_MISMATCH",
    ),
    "transform that never ends": (transform('pipeline { apply "own" }'), "E_TRANSFORM_RECURSION"),
    "match without default": (transform('match { case "a" "b" }'), "E_MATCH_DEFAULT"),
    "case twice": (transform('match { case "a" "b"; case "a" "c"; default "" }'), "E_MATCH_DUPLICATE_CASE"),
    "case of another type": (transform('match { case 1 "b"; default "" }'), "E_TYPE_MISMATCH"),
    "external without symbol": (transform("external"), "E_EXTERNAL_TRANSFORM_MISSING"),
}


@pytest.mark.parametrize(("source", "code"), WRONG.values(), ids=WRONG.keys())
def test_wrong_program_is_refused_with_its_code(source: str, code: str) -> None:
    assert codes(source) == [code]
    assert extract.compile(source).program is None


def test_three_mistakes_are_told_of_at_their_places() -> None:
    source = extractor(
        'field "title" type="strin" required=#true { select "h1"; value "text" }\n'
        'field "price" type="u8" required=#true {\n  select "p:hover"\n  value "text"\n'
        '  apply "parse-int" as="u8" radix=1\n}'
    )
    assert places(extract.compile(source)) == [
        ("E_TYPE_UNKNOWN", 3, 1, "output.title"),
        ("E_SELECTOR_UNSUPPORTED", 5, 3, "output.price.select"),
        ("E_TRANSFORM_ARGUMENT", 7, 3, "output.price.transforms[0]"),
    ]


def test_field_without_a_right_name_is_still_looked_into() -> None:
    source = extractor(field('select "a:hover"; value "text"').replace('"title"', '"Title"'))
    assert codes(source) == ["E_IDENTIFIER_INVALID", "E_SELECTOR_UNSUPPORTED"]
    assert codes(source.replace('"Title"', "")) == ["E_ARGUMENT_COUNT", "E_SELECTOR_UNSUPPORTED"]


def javascript(properties: str, select: str = "") -> str:
    return extractor(field(f'{select}evaluate-js "() => 1" returns="string" {properties}'), source=BROWSER)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (javascript('scope="document"'), []),
        (javascript('scope="current"', 'select "a"; '), []),
        (javascript('scope="document"', 'select "a"; '), ["E_SELECTOR_FORBIDDEN"]),
        (javascript('scope="current"'), ["E_CURRENT_SCOPE_UNAVAILABLE"]),
        (javascript(""), ["E_TYPE_MISMATCH"]),
    ],
)
def test_javascript_is_always_warned_of(source: str, expected: list[str]) -> None:
    compilation = extract.compile(source)
    assert [one.code for one in compilation.diagnostics if one.severity == "error"] == expected
    assert [one.code for one in compilation.diagnostics if one.severity == "warning"] == ["W_JAVASCRIPT_PRESENT"]
