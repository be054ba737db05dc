"""Main content or the whole page: open until something was read, then kept."""

import pytest

from comity.watch.rules.choosing import Choice, choice, is_instead_of_main
from comity.watch.rules.settings import ContentSettings

MAIN = ContentSettings(part="main", digits_count=False)
WHOLE = ContentSettings(part="whole", digits_count=False, instead_of_main=True)


@pytest.mark.parametrize("basis", ["", "imported", "0:main:", "0:whole:main", "1:whole:", "1:selector:p"])
def test_choice_is_open_where_nothing_of_this_part_is_known(basis: str) -> None:
    assert choice(MAIN, basis) == Choice(MAIN, otherwise=WHOLE)


def test_choice_that_was_made_is_kept_whatever_the_page_becomes() -> None:
    assert choice(MAIN, MAIN.basis) == Choice(MAIN)
    assert choice(MAIN, WHOLE.basis) == Choice(WHOLE)


@pytest.mark.parametrize(
    "settings",
    [
        ContentSettings(part="whole"),
        ContentSettings(part="selector", selector="p"),
        ContentSettings(part="extractor", extractor="a 1"),
    ],
)
def test_other_parts_leave_nothing_to_be_chosen(settings: ContentSettings) -> None:
    assert choice(settings) == choice(settings, WHOLE.basis) == Choice(settings)


def test_whole_page_that_was_asked_for_is_instead_of_nothing() -> None:
    assert is_instead_of_main(WHOLE.basis)
    assert not any(is_instead_of_main(one) for one in ("", MAIN.basis, ContentSettings(part="whole").basis))
    assert WHOLE.basis != ContentSettings(part="whole").basis
