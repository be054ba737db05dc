"""Whether a level ran what its crawl pinned."""

import pytest

from comity.contract.scripts import Compiled, CompiledScript
from ledger.rules.compiled import judge_compiled

PINNED = [("autoscroll", 2), ("inline-x", 1)]


def _compiled(*scripts: tuple[str, int, str], typescript: str = "7.0") -> Compiled:
    return Compiled(
        typescript=typescript,
        host_types="1",
        scripts=[CompiledScript(id=ident, version=version, sha256=digit * 64) for ident, version, digit in scripts],
    )


GOOD = _compiled(("autoscroll", 2, "a"), ("inline-x", 1, "b"))


def test_first_level_is_recorded_and_later_ones_must_agree() -> None:
    assert judge_compiled(PINNED, None, GOOD).kind == "record"
    assert judge_compiled(PINNED, GOOD, GOOD).kind == "same"
    verdict = judge_compiled(PINNED, GOOD, _compiled(("autoscroll", 2, "a"), ("inline-x", 1, "c")))
    assert verdict.kind == "conflict"
    assert "inline-x" in verdict.message


def test_no_scripts_is_a_level_too() -> None:
    assert judge_compiled([], None, _compiled()).kind == "record"
    assert judge_compiled([], _compiled(), _compiled()).kind == "same"


@pytest.mark.parametrize(
    ("reported", "field", "words"),
    [
        (_compiled(("autoscroll", 2, "a")), "compiled.scripts", "inline-x version 1"),
        (_compiled(), "compiled.scripts", "autoscroll version 2, inline-x version 1"),
        (_compiled(("autoscroll", 2, "a"), ("inline-x", 1, "b"), ("z", 1, "c")), "compiled.scripts.2", "never pinned"),
        (_compiled(("autoscroll", 1, "a"), ("inline-x", 1, "b")), "compiled.scripts.0", "never pinned"),
        (
            _compiled(("autoscroll", 2, "a"), ("autoscroll", 2, "a"), ("inline-x", 1, "b")),
            "compiled.scripts.1",
            "twice",
        ),
    ],
)
def test_report_that_is_not_what_was_pinned_is_refused(reported: Compiled, field: str, words: str) -> None:
    verdict = judge_compiled(PINNED, None, reported)
    assert (verdict.kind, verdict.field) == ("refuse", field)
    assert words in verdict.message
