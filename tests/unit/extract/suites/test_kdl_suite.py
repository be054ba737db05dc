"""The test suite of KDL 2.0 (https://kdl.dev): the language reads a subset, and each difference is one of these."""

import pytest

from comity.extract.kdl.parser import parse
from tests.unit.extract.suites.canonical_kdl import plain_nodes, read_canonical
from tests.unit.extract.suites.packages import KDL, files_of, needs

pytestmark = needs(KDL)

CASES = files_of(KDL, "tests/kdl_test_cases")
INPUTS = sorted(name.removeprefix("input/") for name in CASES if name.startswith("input/"))
RIGHT = [name for name in INPUTS if f"expected_kdl/{name}" in CASES]
WRONG = [name for name in INPUTS if f"expected_kdl/{name}" not in CASES]

REFUSED: dict[str, str] = {
    "no type annotations: every value of a program has a place that gives it its type": """
        arg_false_type arg_float_type arg_hex_type arg_null_type arg_raw_string_type arg_string_type
        arg_true_type arg_type arg_zero_type blank_arg_type blank_node_type blank_prop_type
        comment_after_arg_type comment_after_node_type comment_after_prop_type comment_in_arg_type
        comment_in_node_type comment_in_prop_type node_type prop_false_type prop_float_type prop_hex_type
        prop_identifier_type prop_null_type prop_raw_string_type prop_string_type prop_true_type prop_type
        prop_zero_type quoted_arg_type quoted_node_type quoted_prop_type raw_arg_type raw_node_type
        raw_prop_type space_after_arg_type space_after_node_type space_after_prop_type space_in_arg_type
        space_in_node_type space_in_prop_type
    """,
    "no bare words as values: text is always in quotes, so that a typing error is never taken for text": """
        all_node_fields arg_and_prop_same_name arg_bare block_comment block_comment_after_node bom_initial
        commented_arg commented_child commented_prop initial_slashdash multiline_comment nested_block_comment
        nested_comments nested_multiline_block_comment newlines_in_block_comment parse_all_arg_types
        repeated_arg single_arg single_prop slashdash_escline_before_children slashdash_false_node
        slashdash_multiple_child_blocks slashdash_prop slashdash_raw_prop_key slashdash_repeated_prop
        space_around_prop_marker underscore_before_number vertical_tab_whitespace
    """,
    "names are ASCII letters, digits, `-` and `_` and are never quoted: all names of the language are": """
        bare_emoji bare_ident_dot bare_ident_sign bare_ident_sign_dot chevrons_in_bare_id comma_in_bare_id
        dash_dash emoji empty_quoted_node_id empty_quoted_prop_key question_mark_before_number quoted_node_name
        quoted_prop_name raw_node_name unicode_silly unusual_bare_id_chars_in_quoted_id unusual_chars_in_bare_id
    """,
    "no line continuation, neither between values nor inside of strings": """
        eof_after_escape esc_multiple_newlines escaped_whitespace escline escline_after_semicolon escline_alone
        escline_empty_line escline_end_of_node escline_in_child_block escline_line_comment escline_node
        escline_node_type escline_slashdash multiline_nodes slashdash_arg_after_newline_esc
        slashdash_arg_before_newline_esc slashdash_escline_before_arg_type slashdash_escline_before_node
        string_escaped_literal_whitespace
    """,
    "no multi-line strings with escapes: raw ones hold scripts, and nothing else needs lines": """
        multiline_string multiline_string_containing_quotes multiline_string_double_backslash
        multiline_string_empty multiline_string_empty_indented multiline_string_escape_delimiter
        multiline_string_escape_in_closing_line multiline_string_escape_in_closing_line_shallow
        multiline_string_escape_newline_at_end multiline_string_indented multiline_string_only_1_quote
        multiline_string_only_2_quotes multiline_string_whitespace_only multiline_string_wrapped_binary
        slashdash_full_node
    """,
    "integers have 64 bits and other numbers are finite": """
        floating_point_keywords hex hex_int sci_notation_large
    """,
    "a slashdash before a second block of children begins with a space": """
        zero_space_before_slashdash_children
    """,
}
"""What KDL takes and the language does not: why, and the cases."""

ACCEPTED: dict[str, str] = {
    "true, false and null without # are ordinary names of properties; no property is called so": """
        false_prop_key_fail null_prop_key_fail true_prop_key_fail
    """,
    "values in quotes end where they end: no space is asked for behind them": """
        zero_space_before_first_arg_fail zero_space_before_prop_fail zero_space_before_second_arg_fail
    """,
    "raw multi-line strings are not dedented, so no indentation of theirs is wrong": """
        multiline_raw_string_non_matching_prefix_character_error_fail
        multiline_raw_string_non_matching_prefix_count_error_fail
    """,
}
"""What the language takes and KDL does not."""

READ_OTHERWISE: dict[str, str] = {
    "raw multi-line strings are not dedented: only their first and last newline go": """
        multiline_raw_string_empty_indented multiline_raw_string_indented
    """,
}
"""What both take and read differently."""


def named(differences: dict[str, str]) -> list[str]:
    return sorted(f"{name}.kdl" for names in differences.values() for name in names.split())


def is_taken(name: str) -> bool:
    return not parse(CASES[f"input/{name}"].decode()).mistakes


def is_read_as_expected(name: str) -> bool:
    found = plain_nodes(parse(CASES[f"input/{name}"].decode()).nodes)
    return found == read_canonical(CASES[f"expected_kdl/{name}"].decode())


def test_suite_is_the_one_that_the_differences_were_told_of() -> None:
    assert (len(RIGHT), len(WRONG)) == (243, 95)


def test_refused_documents_are_exactly_those_that_are_told() -> None:
    assert [name for name in RIGHT if not is_taken(name)] == named(REFUSED)


def test_accepted_documents_are_exactly_those_that_are_told() -> None:
    assert [name for name in WRONG if is_taken(name)] == named(ACCEPTED)


def test_documents_that_are_read_otherwise_are_exactly_those_that_are_told() -> None:
    assert [name for name in RIGHT if is_taken(name) and not is_read_as_expected(name)] == named(READ_OTHERWISE)


@pytest.mark.parametrize("differences", [REFUSED, ACCEPTED, READ_OTHERWISE])
def test_no_case_is_told_twice(differences: dict[str, str]) -> None:
    assert len(set(named(differences))) == len(named(differences))
