"""A list of targets as people keep it."""

import pytest

from comity.cli.errors import BadInput
from comity.cli.target_list import MAX_TARGETS, read_targets

A, B = "http://a.example/x,y#z", "https://b.example/"


def read(text: str, *, as_csv: bool = False, labels: list[str] | None = None) -> list[tuple[str, list[str]]]:
    order = read_targets(text, "list", as_csv=as_csv, labels=labels or [])
    assert order.targets is not None
    assert order.labels == (labels or [])
    return [(target.url, target.labels) for target in order.targets]


@pytest.mark.parametrize(
    "text",
    [
        f"{A}\n{B}\n",
        f"# a comment\n\n  {A}  \r\n\t\n#http://c.example/\n{B}",
    ],
)
def test_plain_list_has_one_url_a_line(text: str) -> None:
    assert read(text) == [(A, []), (B, [])]


@pytest.mark.parametrize(
    "text",
    [
        f'"{A}",news,daily\n{B}\n',
        f'URL,labels\n"{A}",news;daily\n{B},\n',
        f'# kept by hand\n"{A}", "news ; daily", news\n,,\n\n{B}\n',
    ],
)
def test_csv_has_labels_after_the_url(text: str) -> None:
    assert read(text, as_csv=True) == [(A, ["news", "daily"]), (B, [])]


def test_labels_that_were_typed_go_to_all() -> None:
    assert read(B, labels=["x"]) == [(B, [])]


@pytest.mark.parametrize(
    ("text", "as_csv", "words"),
    [
        (
            f"{A}\n\nexample.org\n",
            False,
            "list:3: 'example.org': must begin with http:// or https://; nothing was added",
        ),
        (f"{A}\nftp://c/\nhttp://\n", False, "list:2: 'ftp://c/': must begin with http:// or https://; list:3: "),
        ("x\n" * 7, False, "; and 2 more lines; nothing was added"),
        (f"{A} {B}\n", False, "percent-encode"),
        ("http://a.example/" + "x" * 5000, False, "is over 2048 bytes"),
        (f"{B},news\nnone,x\n", True, "list:2: 'none'"),
        (f"{B},{'x' * 101}\n", True, "list:1: labels: "),
        (f"{B},{';'.join(map(str, range(21)))}\n", True, "list:1: labels: "),
        (f'{B}\n"{B}"x\n', True, "list:2: not CSV"),
        ("", False, "has no URL in it"),
        ("# nothing\n", True, "has no URL in it"),
        (f"{B}\n" * (MAX_TARGETS + 1), False, "split it"),
    ],
)
def test_line_that_is_wrong_is_named_and_none_is_meant(text: str, as_csv: bool, words: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read(text, as_csv=as_csv)
    assert words in str(refusal.value)
    assert len(str(refusal.value)) < 1000
    assert refusal.value.exit_code == 2


def test_wrong_label_that_was_typed_is_named() -> None:
    with pytest.raises(BadInput, match="--label"):
        read(B, labels=["x" * 101])


def test_longest_list_is_taken() -> None:
    assert len(read(f"{B}\n" * MAX_TARGETS)) == MAX_TARGETS
