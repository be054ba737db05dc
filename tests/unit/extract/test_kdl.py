"""The KDL subset: what it takes, what it refuses and where, and that it goes on."""

import pytest

from comity.extract.ir.scalars import Scalar
from comity.extract.kdl.parser import MAX_DEPTH, MAX_MISTAKES, parse
from comity.extract.kdl.tree import Locator, Node


def only_node(text: str) -> Node:
    document = parse(text)
    assert document.mistakes == ()
    (node,) = document.nodes
    return node


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"a"', "a"),
        ('""', ""),
        (r'"\n\t\\\"\s\u{1f40e}"', '\n\t\\" 🐎'),
        ('#"raw \\n "quoted""#', 'raw \\n "quoted"'),
        ('##"a"#b"##', 'a"#b'),
        ('#"""\n  two\n  lines\n"""#', "  two\n  lines"),
        ('#"""\n  kept indent\n  """#', "  kept indent\n  "),
        ("0", 0),
        ("-0x7f", -127),
        ("+1_000", 1000),
        ("0b101", 5),
        ("0o17", 15),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("1.5e-2", 0.015),
        ("1e3", 1000.0),
        ("#true", True),
        ("#false", False),
        ("#null", None),
    ],
)
def test_value_is_read(written: str, value: Scalar) -> None:
    (argument,) = only_node(f"node {written}").arguments
    assert argument.scalar == value
    assert type(argument.scalar) is type(value)


@pytest.mark.parametrize(
    "written",
    [
        "bare",
        "true",
        '"open',
        '"bad \\x escape"',
        r'"\u{d800}"',
        r'"\u{110000}"',
        '"""\nescaped lines\n"""',
        '#"open',
        '#"two\nlines"#',
        '#"""no newline"""#',
        "9223372036854775808",
        "1e999",
        "1.",
        "0xg",
        "1__a",
        "#inf",
        "#nan",
        "#yes",
        "\\",
        "'a'",
        '"\u202e"',
        "1" * 5000,
    ],
)
def test_value_outside_of_the_subset_is_told_of(written: str) -> None:
    document = parse(f"node {written}\nnext 1")
    assert {one.code for one in document.mistakes} == {"E_KDL_SYNTAX"}
    assert document.mistakes[0].start == len("node ")


def test_parsing_goes_on_behind_every_mistake() -> None:
    document = parse('first @\nsecond key=\nthird 0x\n"fourth"\n}\nfifth { child "a" }')
    assert [node.name for node in document.nodes] == ["first", "second", "third", "fifth"]
    starts = [one.start for one in document.mistakes]
    assert starts == sorted(starts)
    assert len(set(starts)) == 5


def test_slashdash_leaves_out_nodes_arguments_properties_and_children() -> None:
    node = only_node('/- gone { a }\nkept "1" /- "2" /-old=1 new=2 /- { gone } { child }')
    assert [one.scalar for one in node.arguments] == ["1"]
    assert [(one.name, one.value.scalar) for one in node.properties] == [("new", 2)]
    assert [child.name for child in node.children] == ["child"]


def test_type_annotation_is_told_of_once_and_passed_over() -> None:
    document = parse("(t)node (u8)1 key=(u8)2")
    assert [(one.code, one.start) for one in document.mistakes] == [
        ("E_TYPE_ANNOTATION_UNSUPPORTED", start) for start in (0, 8, 18)
    ]
    assert [node.name for node in document.nodes] == ["node"]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("node", 4),
        ("node a=1", 8),
        ("node a=1 2 b=3", 10),
        ("node 1 { a }  ", 12),
        ("node 1 /- 2", 6),
    ],
)
def test_span_of_a_node_ends_at_children_else_argument_else_property(text: str, end: int) -> None:
    assert only_node(text).end == end


def test_position_counts_bytes_lines_and_code_points() -> None:
    text = "牡 a\r\n🐎b\rc\n"
    locator = Locator("file.kdl", text)
    found = [locator.position(text.index(letter)) for letter in "abc"]
    assert [(one.offset, one.line, one.column) for one in found] == [(4, 1, 3), (11, 2, 2), (13, 3, 1)]


def test_comments_and_a_byte_order_mark_are_passed_over() -> None:
    document = parse("\ufeff// line\n/* a /* b */ c */ node /* d */ 1 // end")
    assert [(node.name, node.start) for node in document.nodes] == [("node", 27)]
    assert document.mistakes == ()


def test_too_deep_children_are_told_of_and_passed_over() -> None:
    deep = "a{" * (MAX_DEPTH + 5000) + "}" * (MAX_DEPTH + 5000)
    document = parse(deep + "\nafter")
    assert [one.code for one in document.mistakes] == ["E_KDL_SYNTAX"]
    assert [node.name for node in document.nodes] == ["a", "after"]
    assert parse("a{" * MAX_DEPTH + "}" * MAX_DEPTH).mistakes == ()


def test_mistakes_are_not_told_without_end() -> None:
    assert len(parse("@ " * 10_000).mistakes) == MAX_MISTAKES
