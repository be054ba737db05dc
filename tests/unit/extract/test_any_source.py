"""Whatever the bytes of a program: diagnostics or a program, in order, with spans inside of the text."""

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity import extract
from comity.extract import Compilation, Failure, Program, Result, canonical_json, plain, read_program
from comity.extract.compiler.templates import read_template
from comity.extract.compiler.type_expressions import read_type
from comity.extract.profile.patterns import PatternError, compile_pattern
from comity.extract.profile.selectors import SelectorError, parse_selector
from tests.unit.extract.test_grammar import RIGHT, WRONG

LANGUAGE = """
    extractor module import source fetch session workflow input field collection select value apply on-error
    transform pipeline match case default external evaluate-js click { } { } ; /- /* */ // ( ) = 1 -1.5 0x
    "html" "text" "a" "2026-07-15" "http" "browser" "https://a.example/{a}" "u8?" "trim" "regex-capture"
    version= language-version= type= required= default= min-items= as= pattern= mode= url= #true #null
"""
WORDS = [*LANGUAGE.split(), '#"', '"#', '"', "\\", "é", "\ufeff", "\n"]
HOSTILE = ["{", "a{", "/*", '"', "(", "#", "/-", "a=", "\\", '#"', "\x00", "a;", "-", '#"a\n', '#"""', "é@"]
PAGE = "<h1 class=a href=/x>1</h1><ul><li class=entry>2<p>x</p></ul>"


def check(data: bytes) -> Compilation:
    compilation = extract.compile(data)
    assert (compilation.program is None) or not [one for one in compilation.diagnostics if one.severity == "error"]
    assert compilation.program is not None or compilation.diagnostics or compilation.failure
    order = [(one.span.start.offset, one.code) for one in compilation.diagnostics if one.span.file == "extractor.kdl"]
    assert order == sorted(order)
    for one in compilation.diagnostics:
        assert one.message
        assert 0 <= one.span.start.offset <= one.span.end.offset <= len(data)
    if compilation.program is not None:
        assert read_program(canonical_json(plain(compilation.program))).program == compilation.program
        prepared = Program.prepare(compilation.program)  # what compiles can be run, if only to be refused
        assert isinstance(prepared, Program), prepared
        assert isinstance(prepared.extract_snapshot(PAGE), Result | Failure)
    return compilation


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes(data: bytes) -> None:
    check(data)


@given(st.lists(st.sampled_from(WORDS), max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_words_of_the_language(words: list[str]) -> None:
    check(" ".join(words).encode())


SOURCES = [*RIGHT.values(), *(source for source, _ in WRONG.values())]


@given(st.sampled_from(SOURCES), st.integers(0, 2**32))
@settings(max_examples=500, deadline=None)
def test_any_damage_to_a_program(source: str, seed: int) -> None:
    chance = random.Random(seed)
    words = source.split(" ")
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(words))
        words[at : at + chance.randrange(3)] = chance.choices(WORDS, k=chance.randrange(3))
        words = words or [""]
    check(" ".join(words).encode())


@given(st.text(alphabet="ab1*#.[]='\"~|^$:()>+, \\n-&/é", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_selector_pattern_type_and_template(text: str) -> None:
    with suppress(SelectorError):  # which has one of its two codes, or it could not be made
        parse_selector(text)
    with suppress(PatternError):
        compile_pattern(text)
    for read in (read_type, read_template):
        read(text)


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_text_is_told_of(part: str) -> None:
    assert check((part * 30_001).encode()).program is None
