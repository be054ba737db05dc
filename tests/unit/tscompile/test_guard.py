"""Comments and syntax that would undermine a check."""

import pytest

from comity.contract.compiler import Diagnostic
from comity.tscompile import guard
from comity.tscompile.program import Source


@pytest.mark.parametrize(
    ("text", "code", "line", "col"),
    [
        ("// @ts-nocheck\nlet a = 1;", "no-ts-nocheck", 1, 1),
        ("//@ts-nocheck", "no-ts-nocheck", 1, 1),
        ("// @ts-nocheck_", "no-ts-nocheck", 1, 1),
        ("// @TS-NoCheck: because", "no-ts-nocheck", 1, 1),
        ("/* é𝒳 */ // @ts-nocheck", "no-ts-nocheck", 1, 11),  # columns count UTF-16 units, as the compiler's do
        ("let a = 1;\r\n  /// @ts-nocheck", "no-ts-nocheck", 2, 4),
        ("// x\u2028// @ts-nocheck", "no-ts-nocheck", 2, 1),
        ('/// <reference path="/etc/passwd" />', "no-reference", 1, 1),
        ('\n///<reference lib="webworker"/>', "no-reference", 2, 1),
        ("/// <amd-module name='x'/>", "no-reference", 1, 1),
    ],
)
def test_comment_that_changes_the_check_is_refused(text: str, code: str, line: int, col: int) -> None:
    (found,) = guard.textual_findings([Source("ok", "let b = 1;"), Source("a", text)])
    assert (found.file, found.code, found.line, found.col) == ("a.ts", code, line, col)


@pytest.mark.parametrize(
    "text",
    [
        "// mind the @ts-nocheck of others",
        "// @ts-no-check",
        "// <reference />",
        "/* @ts-nocheck */",
        "// @ts-ignore",
    ],
)
def test_comment_without_effect_passes(text: str) -> None:
    assert guard.textual_findings([Source("a", text)]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let a = 1;", False),
        ("let important = 1, exported = 2;", False),
        ("// @ts-expect-error\nlet a = 1;", True),
        ("export {};", True),
        ("import('x');", True),
    ],
)
def test_second_look_only_with_reason(text: str, expected: bool) -> None:
    assert guard.needs_probe([Source("a", text)]) is expected


def test_probe_moves_no_place_in_the_source() -> None:
    text = "// @ts-ignore\nimport('x');"
    probed, _asking = guard.probe([Source("a", text)], "00ff")
    assert probed.text.startswith("// @ts_ignore".ljust(12))
    assert "@ts-ignore" not in probed.text
    assert probed.text.splitlines()[1] == "import('x');"


def test_probe_blames_the_script_that_is_a_module() -> None:
    sources = [Source("classic", "let a = 1;"), Source("module", "let export_ = 1;\n  export {};")]
    asked = Diagnostic(
        file="module-probe-00ff.ts", line=2, col=1, code="TS2304", message="Cannot find name '__script_00ff_1'."
    )
    (found,) = guard.probe_findings(sources, [asked], "00ff")
    assert (found.file, found.line, found.col, found.code) == ("module.ts", 2, 3, "no-modules")


def test_probe_takes_up_what_must_not_be_hidden_and_leaves_types_alone() -> None:
    def finding(code: str) -> Diagnostic:
        return Diagnostic(file="a.ts", line=1, col=1, code=code, message="m")

    found = guard.probe_findings([Source("a", "")], [finding("TS2322"), finding("TS1294")], "00ff")
    assert [each.code for each in found] == ["TS1294"]
