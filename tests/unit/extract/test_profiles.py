"""Regular expressions, types and URL templates: what is in the language, what is outside of it."""

import pytest

from comity.extract.compiler.templates import read_template
from comity.extract.compiler.type_expressions import assignable, fits, read_type
from comity.extract.ir.program import Template
from comity.extract.ir.scalars import Scalar
from comity.extract.ir.types import TypeRef
from comity.extract.profile.patterns import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "groups"), [("a", 0), ("/horse/([^/?#]+)", 1), (r"[(?<]\\C", 0), (r"\Q\C\E", 0), (r"\pL(?:a)(b)", 1)]
)
def test_re2_pattern_is_taken(pattern: str, groups: int) -> None:
    assert compile_pattern(pattern, "ims").groups == groups


@pytest.mark.parametrize(
    "pattern", ["a(?=b)", "a(?<!b)", r"(a)\1", "(?P<n>a)", "(?<n>a)", r"a\C", "(", "a{1001}", "a" * 5000]
)
def test_pattern_outside_of_the_profile_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)


@pytest.mark.parametrize("flags", ["x", "ii", "I"])
def test_unknown_and_repeated_flags_are_refused(flags: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern("a", flags)


def type_of(written: str) -> TypeRef:
    found = read_type(written)
    assert not isinstance(found, str), found
    return found


@pytest.mark.parametrize(
    ("written", "read"),
    [("u8", "u8"), ("string?[]", "string?[]"), ("(string[])?", "string[]?"), ("((int))", "int"), ("u8 [] ?", "u8[]?")],
)
def test_type_is_read_from_left_to_right(written: str, read: str) -> None:
    assert str(type_of(written)) == read


@pytest.mark.parametrize(
    "written", ["", "u7", "string??", "(string?)?", "string[", "(string", "string)", "[]", "a" * 999]
)
def test_what_is_no_type_is_refused(written: str) -> None:
    assert isinstance(read_type(written), str)


@pytest.mark.parametrize(
    ("given", "wanted", "fit"),
    [
        ("string", "string", True),
        ("string", "string?", True),
        ("string?", "string", False),
        ("string?", "unknown", True),
        ("unknown", "string", False),
        ("string[]", "string?[]", True),
        ("u8", "u16", False),
        ("int", "float", False),
        ("object", "object?", True),
    ],
)
def test_types_are_never_converted(given: str, wanted: str, fit: bool) -> None:
    assert assignable(type_of(given), type_of(wanted)) is fit


@pytest.mark.parametrize(
    ("value", "wanted", "fit"),
    [
        ("a", "string", True),
        (1, "string", False),
        (True, "int", False),
        (255, "u8", True),
        (256, "u8", False),
        (-1, "u64", False),
        (-128, "i8", True),
        (1, "float", True),
        (1.0, "int", False),
        (1e300, "f64", True),
        (1e300, "f32", False),
        (None, "u8?", True),
        (None, "u8", False),
        (None, "unknown", True),
        ("a", "string[]", False),
        ("a", "object", False),
    ],
)
def test_scalar_fits_its_type_alone(value: Scalar, wanted: str, fit: bool) -> None:
    assert fits(value, type_of(wanted)) is fit


def test_template_has_literals_and_inputs() -> None:
    template = read_template("https://example.org/{{x}}/{a}{b}?c")
    assert isinstance(template, Template)
    shown = [(one.kind, getattr(one, "value", None) or getattr(one, "name", None)) for one in template.segments]
    assert shown == [("literal", "https://example.org/{x}/"), ("input", "a"), ("input", "b"), ("literal", "?c")]


@pytest.mark.parametrize("raw", ["", "/a", "ftp://a/", "https://a/{", "https://a/}", "https://a/{B}", "https://a/{}"])
def test_wrong_template_is_refused(raw: str) -> None:
    assert isinstance(read_template(raw), str)
