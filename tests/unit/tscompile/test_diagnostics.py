"""The compiler's plain output, read as findings."""

from comity.contract.compiler import Diagnostic
from comity.tscompile.diagnostics import MAX_MESSAGE_CHARACTERS, explained, in_order, parse


def test_a_finding_keeps_place_code_and_message() -> None:
    assert parse("a-b.ts(3,14): error TS2551: Property 'x' does not exist.\n") == [
        Diagnostic(file="a-b.ts", line=3, col=14, code="TS2551", message="Property 'x' does not exist.")
    ]


def test_indented_lines_go_on_with_the_message() -> None:
    (found,) = parse("a.ts(1,1): error TS2322: No.\n  Because of this.\n    And that.\n")
    assert found.message == "No.\n  Because of this.\n    And that."


def test_a_finding_without_a_file_is_read_too() -> None:
    assert parse("error TS6053: File not found.") == [Diagnostic(code="TS6053", message="File not found.")]


def test_folders_are_left_out() -> None:
    (found,) = parse("../../opt/typescript/lib/lib.dom.d.ts(9,1): error TS2451: Twice.")
    assert found.file == "lib.dom.d.ts"


def test_other_lines_are_no_findings() -> None:
    assert parse("panic: something\n\ngoroutine 1\n") == []


def test_an_endless_message_is_cut() -> None:
    (found,) = parse("a.ts(1,1): error TS2322: " + "x" * 100_000 + "\n  more\n")
    assert len(found.message) == MAX_MESSAGE_CHARACTERS


def test_advice_that_misleads_gets_the_right_next_step() -> None:
    plain = Diagnostic(file="a.ts", line=1, col=1, code="TS2322", message="No.")
    asks_for_module = plain.model_copy(update={"code": "TS1375"})
    assert explained(plain) == plain
    assert "(async () =>" in explained(asks_for_module).message


def test_order_is_the_callers_then_by_place_and_each_once() -> None:
    def at(file: str | None, line: int) -> Diagnostic:
        return Diagnostic(file=file, line=line, col=1, code="TS1", message="m")

    found = [at(None, 0), at("a.ts", 10), at("lib.dom.d.ts", 1), at("b.ts", 7), at("a.ts", 9), at("a.ts", 10)]
    ordered = in_order(found, ["b.ts", "a.ts"])
    assert [(each.file, each.line) for each in ordered] == [
        ("b.ts", 7),
        ("a.ts", 9),
        ("a.ts", 10),
        (None, 0),
        ("lib.dom.d.ts", 1),
    ]
