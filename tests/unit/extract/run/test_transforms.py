"""The 26 built-ins, pipelines, matches and the host's own functions."""

from typing import Any

import pytest

from comity.extract.ir.program import Transform, TransformCall
from comity.extract.run import Failure, Program
from comity.extract.run.builtins_values import f32_to_text, to_text
from comity.extract.run.failures import RunError
from comity.extract.run.transforms import Transforms
from tests.unit.extract.run.programs import apply, external, extractor, failure, field, matching, pipeline, result


def run(value: Any, call: TransformCall) -> Any:
    ((function, needs_host),) = Transforms(()).steps((call,), "output.t")
    assert not needs_host
    return function(value)


CASES: list[tuple[str, TransformCall, Any, Any]] = [
    ("trim", apply("trim"), "\u3000\t a b\u2028\x85", "a b"),
    ("trim keeps what Unicode does not call white space", apply("trim"), "\x1f a\u200b", "\x1f a\u200b"),
    ("normalize", apply("normalize-whitespace"), " a\u00a0\n b ", "a b"),
    ("normalize keeps separators", apply("normalize-whitespace"), " a \x1c b\u3000c", "a \x1c b c"),
    ("lowercase", apply("lowercase"), "ÀÉ", "àé"),
    ("uppercase", apply("uppercase"), "straße", "STRASSE"),
    ("replace all", apply("replace", old="a", new="-"), "aba", "-b-"),
    ("replace one", apply("replace", old="a", new="-", count=1), "aba", "-ba"),
    ("replace none", apply("replace", old="a", new="-", count=0), "aba", "aba"),
    ("regex-replace", apply("regex-replace", pattern=r"(\w)(\d)", replacement="$2$1$$$0"), "a1b2", "1a$a12b$b2"),
    ("regex-replace count", apply("regex-replace", pattern="a", replacement="", count=1), "aa", "a"),
    ("regex-replace none", apply("regex-replace", pattern="a", replacement="", count=0), "aa", "aa"),
    ("regex-replace empty matches", apply("regex-replace", pattern="x*", replacement="-"), "axb日c", "-a-b-日-c-"),
    ("regex-replace flags", apply("regex-replace", pattern="^a.", replacement="X", flags="ims"), "b\nA\nc", "b\nXc"),
    ("regex-capture group", apply("regex-capture", pattern="/horse/([^/?#]+)", group=1), "/horse/é?x", "é"),
    ("regex-capture all", apply("regex-capture", pattern=r"\d+"), "a12", "12"),
    ("regex-capture nothing", apply("regex-capture", pattern="x"), "a", None),
    ("regex-capture not taken", apply("regex-capture", pattern="a(b)?", group=1), "a", None),
    ("substring", apply("substring", start=1, end=3), "a日本b", "日本"),
    ("substring from the end", apply("substring", start=-2), "a日本b", "本b"),
    ("substring beyond", apply("substring", start=2, end=99), "abc", "c"),
    ("substring backwards", apply("substring", start=2, end=1), "abc", ""),
    ("split", apply("split", separator=","), "a,,b", ["a", "", "b"]),
    ("split limit drops the rest", apply("split", separator=",", limit=2), "a,b,c,d", ["a", "b"]),
    ("split into characters", apply("split", separator="", limit=2), "日本語", ["日", "本"]),
    ("split to nothing", apply("split", separator=",", limit=0), "a,b", []),
    ("join", apply("join", separator="-"), ["a", "b"], "a-b"),
    ("prepend", apply("prepend", value="x"), "a", "xa"),
    ("append", apply("append", value="x"), "a", "ax"),
    ("parse-int", apply("parse-int", as_="i8"), "-128", -128),
    ("parse-int plus", apply("parse-int", as_="u8"), "+0255", 255),
    ("parse-int hexadecimal", apply("parse-int", as_="int", radix=16), "0bF", 191),
    ("parse-int base 36", apply("parse-int", as_="int", radix=36), "z", 35),
    ("parse-int largest", apply("parse-int", as_="u64"), "18446744073709551615", 2**64 - 1),
    ("parse-float", apply("parse-float", as_="float"), "-1.5e3", -1500.0),
    ("parse-float f32", apply("parse-float", as_="f32"), "0.1", 0.10000000149011612),
    ("parse-bool", apply("parse-bool"), "TRUE", True),
    ("parse-bool own words", apply("parse-bool", true="oui", false="non"), "Non", False),
    ("to-string", apply("to-string"), 1.0, "1"),
    ("to-string f32", apply("to-string", given="f32"), 0.10000000149011612, "0.1"),
    ("empty-to-null", apply("empty-to-null"), "", None),
    ("empty-to-null keeps", apply("empty-to-null"), " ", " "),
    ("coalesce null", apply("coalesce", value="d", given="string?"), None, "d"),
    ("coalesce value", apply("coalesce", value="d", given="string?"), "", ""),
    ("url-resolve", apply("url-resolve", base="https://e.example/a/b?q"), "../c d?é#f", "https://e.example/c%20d?%C3%A9#f"),
    ("url-query", apply("url-query", name="a b"), "/x?a+b=1%20&a%20b=2", "1 "),
    ("url-query second", apply("url-query", name="a", index=1), "?a=1&a=2", "2"),
    ("url-query absent", apply("url-query", name="z"), "?a=1", None),
    ("url-path", apply("url-path"), "https://e.example/a%20b/?q", "/a b/"),
    ("path-segment", apply("path-segment", index=1), "https://e.example//a/b%2Fc/", "b/c"),
    ("path-segment from the end", apply("path-segment", index=-1), "/a/b/", "b"),
    ("path-segment absent", apply("path-segment", index=2), "/a/b/", None),
    ("assert-matches", apply("assert-matches", pattern="^a"), "ab", "ab"),
    ("assert-enum", apply("assert-enum", "a", None), "a", "a"),
    ("assert-enum null", apply("assert-enum", "a", None), None, None),
    ("assert-enum numbers", apply("assert-enum", 1.0, -0.0), 0.0, 0.0),
    ("assert-min", apply("assert-min", value=1), 1, 1),
    ("assert-max", apply("assert-max", value=1.5), 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("call", "given", "expected"), [one[1:] for one in CASES], ids=[one[0] for one in CASES])
def test_builtin_gives(call: TransformCall, given: Any, expected: Any) -> None:
    found = run(given, call)
    assert found == expected
    assert type(found) is type(expected)


REFUSED: list[tuple[TransformCall, Any]] = [
    *((apply("parse-int", as_="u8"), text) for text in ("", "256", "-1", " 1", "1_0", "1.0", "٣", "0x1", "+-1", "+")),
    *((apply("parse-int", as_="int", radix=2), text) for text in ("2", "0b1", "1" * 64, "9" * 100_000)),
    *(
        (apply("parse-float", as_="float"), text)
        for text in ("", "nan", "inf", "1e999", "0x1p3", "1_0", " 1", "1,5", "٣")
    ),
    (apply("parse-float", as_="f32"), "1e39"),
    (apply("parse-bool"), "yes"),
    (apply("parse-bool", case_sensitive=True), "True"),
    *((apply("url-path"), text) for text in ("http://e.example:x/", "/%zz", "/%ff", "1a:b", "http://a b/", "\x00")),
    (apply("assert-matches", pattern="^a$"), "ab"),
    (apply("assert-enum", "a"), "b"),
    (apply("assert-enum", 1), True),
    (apply("assert-min", value=2), 1),
    (apply("assert-max", value=2), 2.5),
]


@pytest.mark.parametrize(("call", "given"), REFUSED)
def test_builtin_refuses(call: TransformCall, given: Any) -> None:
    with pytest.raises(RunError) as caught:
        run(given, call)
    assert caught.value.code == "E_TRANSFORM"
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (-1, "-1"), (1e21, "1" + "0" * 21), (1e-7, "0.0000001"), (-0.0, "0"), ("a", "a"), (0.1, "0.1")],
)
def test_scalars_have_one_text(value: Any, text: str) -> None:
    assert to_text(value) == text
    if isinstance(value, float) and value == 0.1:
        assert f32_to_text(value) == text


@pytest.mark.parametrize(
    "pattern", [r"(?=a)", r"\1", r"(?P<n>a)", r"(?<n>a)", r"\C", r"a\\\C", "(", "a{1001}", "\ud800"]
)
def test_patterns_outside_the_profile_are_refused_before_any_page(pattern: str) -> None:
    refused = Program.prepare(extractor(field("t", "p", apply("assert-matches", pattern=pattern))))
    assert isinstance(refused, Failure)
    assert (refused.code, refused.path) == ("E_REGEX_INVALID", "output.t")


@pytest.mark.parametrize("pattern", [r"\\C", r"\Q\C\E", r"\pL", "(?i)a"])
def test_patterns_of_the_profile_are_taken(pattern: str) -> None:
    assert isinstance(Program.prepare(extractor(field("t", "p", apply("assert-matches", pattern=pattern)))), Program)


@pytest.mark.parametrize(
    "call", [apply("replace", old="a"), apply("parse-int", as_="u7"), apply("url-resolve", base="/x"), apply("nothing")]
)
def test_calls_that_cannot_work_are_refused_before_any_page(call: TransformCall) -> None:
    refused = Program.prepare(extractor(field("t", "p", call)))
    assert isinstance(refused, Failure)
    assert refused.path == "output.t"


PAGE = "<p>B1</p>"


def test_pipelines_and_matches_apply_in_order() -> None:
    declared: tuple[Transform, ...] = (
        pipeline("low", apply("lowercase"), apply("#word")),
        matching("word", {"b1": "yes", "1": "one"}, "no"),
    )
    assert result(PAGE, field("t", "p", apply("#low")), transforms=declared).value == {"t": "yes"}
    assert result("<p>x", field("t", "p", apply("#low")), transforms=declared).value == {"t": "no"}


def test_a_transform_that_calls_itself_or_is_not_there_is_refused() -> None:
    loop = (pipeline("a", apply("#b")), pipeline("b", apply("#a")))
    for transforms, code in ((loop, "E_TRANSFORM_RECURSION"), ((), "E_TRANSFORM_MISSING")):
        refused = Program.prepare(extractor(field("t", "p", apply("#a")), transforms=transforms))
        assert isinstance(refused, Failure)
        assert refused.code == code


def test_host_functions_come_from_the_registry_and_nowhere_else() -> None:
    declared = (external("decode", gives="object"),)
    member = field("t", "p", apply("#decode", gives="object"), type_="object")
    missing = failure(PAGE, member, transforms=declared)
    assert (missing.code, missing.path) == ("E_EXTERNAL_TRANSFORM_MISSING", "decode")
    given = {"decode": lambda value: {"seen": [value, 1, None]}}
    assert result(PAGE, member, transforms=declared, external_transforms=given).value == {
        "t": {"seen": ["B1", 1, None]}
    }


@pytest.mark.parametrize("returned", ["text", None, {1: 2}, {"a": object()}, {"a": float("nan")}, [1]])
def test_what_a_host_function_returns_is_checked(returned: Any) -> None:
    declared = (external("decode", gives="object"),)
    member = field("t", "p", apply("#decode", gives="object"), type_="object")
    found = failure(PAGE, member, transforms=declared, external_transforms={"decode": lambda _: returned})
    assert (found.code, found.path) == ("E_EXTERNAL_TRANSFORM_RESULT_TYPE", "output.t")


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    declared = (external("decode", gives="unknown"),)
    member = field("t", "p", apply("#decode", gives="unknown"), type_="unknown")
    found = failure(PAGE, member, transforms=declared, external_transforms={"decode": lambda _: endless})
    assert found.code == "E_EXTERNAL_TRANSFORM_RESULT_TYPE"


def test_a_host_function_that_raises_is_its_fields_error_and_can_be_recovered() -> None:
    def broken(value: Any) -> Any:
        raise KeyError(value)

    declared = (external("decode"),)
    found = failure(
        PAGE, field("t", "p", apply("#decode")), transforms=declared, external_transforms={"decode": broken}
    )
    assert (found.code, found.path) == ("E_EXTERNAL_TRANSFORM", "output.t")
    optional = field("t", "p", apply("#decode"), required=False)
    assert result(PAGE, optional, transforms=declared, external_transforms={"decode": broken}).value == {"t": None}
