"""Terms, queries and snippets: pure rules, the same for what is indexed and what is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.query import Phrase, parse
from ledger.rules.snippet import snippet
from ledger.rules.words import normalised, terms


def _terms(text: str) -> list[str]:
    return [one.term for one in terms(normalised(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Quick, brown fox", ["the", "quick", "brown", "fox"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("ﬁn ＡＢＣ１２", ["fin", "abc12"]),
        ("don't 2030-01-31", ["don", "t", "2030", "01", "31"]),
        ("東京都", ["東京", "京都", "都"]),
        ("東", ["東"]),
        ("Tokyo東京tower", ["tokyo", "東京", "京", "tower"]),
        ("ﾄｳｷｮｳ", ["トウ", "ウキ", "キョ", "ョウ", "ウ"]),
        ("か\u3099く", ["がく", "く"]),
        ("コーヒー", ["コー", "ーヒ", "ヒー", "ー"]),
        ("서울", ["서울", "울"]),
        ("naïve cafe\u0301", ["naïve", "café"]),
        ("हिन्दी", ["हिन्दी"]),
        ("a\0b\ud800c\u202ed", ["a", "b", "c", "d"]),
        ("!? — 🐈", []),
        ("x" * 100, ["x" * 64]),
        ("\u0301a", ["\u0301a"]),
    ],
)
def test_text_is_cut_into_terms(text: str, expected: list[str]) -> None:
    assert _terms(text) == expected


@given(st.text())
def test_terms_are_word_characters_alone_and_the_same_when_cut_again(text: str) -> None:
    for term in terms(normalised(text)):
        assert term.term
        assert not set(term.term) & set(" \"'%&|!:*()<>\\_\0")
        assert 0 <= term.start < term.end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("quick fox", [("quick",), ("fox",)]),
        ('"quick brown" fox', [("quick", "brown"), ("fox",)]),
        ('"never closed', [("never", "closed")]),
        ("「東京都」", [("東京", "京都")]),
        ("“Don’t look”", [("don", "t", "look")]),
        ("don't", [("don", "t")]),
        ("東京", [("東京",)]),
        ("fox FOX fox", [("fox",)]),
        ('"東 tower"', [("東", "tower")]),
        ('AND OR NOT NEAR( * ^ : "" "!"', [("and",), ("or",), ("not",), ("near",)]),
    ],
)
def test_query_is_words_and_phrases_and_never_an_error(text: str, expected: list[tuple[str, ...]]) -> None:
    assert [phrase.terms for phrase in parse(text)] == expected
    assert not any(phrase.open_end for phrase in parse(text))


def test_single_character_of_an_unspaced_script_is_the_beginning_of_a_term() -> None:
    assert parse("東 x") == (Phrase(("東",), open_end=True), Phrase(("x",)))


@given(st.text(max_size=500))
def test_any_query_is_read_and_bounded(text: str) -> None:
    phrases = parse(text)
    assert len(phrases) <= 32
    assert all(phrase.terms for phrase in phrases)


@pytest.mark.parametrize("query", ["猫", "看板", "看板猫", '"三番の席"', "おぼろ」。三番"])
def test_piece_of_a_text_finds_it(query: str) -> None:
    text = normalised("看板猫の名は「おぼろ」。三番の席がお気に入りです。")
    found = [one.term for one in terms(text)]
    joined = f" {' '.join(found)} "
    for phrase in parse(query):
        tail = "" if phrase.open_end else " "
        assert f" {' '.join(phrase.terms)}{tail}" in joined


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("The quick brown fox", "fox quick", "The «quick» brown «fox»"),
        ("The quick brown fox", '"quick brown"', "The «quick brown» fox"),
        ("The quick brown fox", "absent", "The quick brown fox"),
        ("月影茶房へようこそ", "茶房", "月影«茶房»へようこそ"),
        ("月影茶房へようこそ", "月影茶", "«月影茶»房へようこそ"),
        ("月影茶房へようこそ", "茶", "月影«茶»房へようこそ"),
        ("", "x", ""),
    ],
)
def test_snippet_marks_what_was_searched_for(text: str, query: str, expected: str) -> None:
    assert snippet(normalised(text), parse(query)) == expected


def test_snippet_is_cut_between_words_around_the_first_hit() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    shown = snippet(text, parse("word100"))
    assert "«word100»" in shown
    assert shown.startswith("… word")
    assert shown.endswith(" …")
    assert len(shown) < 230
    assert all(part.strip("«»…") in text for part in shown.split(" "))


@given(st.text(max_size=300), st.text(max_size=20))
def test_snippet_is_a_piece_of_the_text(text: str, query: str) -> None:
    whole = normalised(text)
    shown = snippet(whole, parse(query))
    if not set("«»…") & set(whole):
        assert shown.replace("«", "").replace("»", "").removeprefix("… ").removesuffix(" …") in whole


@pytest.mark.parametrize(("filler", "hit"), [("The quick brown fox. ", "needle"), ("看板猫の名は「おぼろ」。", "最後")])
def test_snippet_finds_a_hit_deep_in_a_long_text(filler: str, hit: str) -> None:
    text = normalised(filler * 3000 + hit + " " + filler * 3000)
    assert f"«{hit}»" in snippet(text, parse(hit))


def test_snippet_of_a_text_whose_letters_grow_when_folded_marks_too() -> None:
    assert snippet("Große Straße", parse("strasse")) == "Große «Straße»"
