"""Which events a channel wants to tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ledger.rules.watch_wish import Wish, wants

AT = datetime(2026, 3, 1, tzinfo=UTC)
ALL = Wish(frozenset({"changed"}), AT)
LISTS = {("a1", 7)}


def test_kind_and_time_decide_where_nothing_else_is_named() -> None:
    assert wants(ALL, "changed", 7, AT, LISTS)
    assert not wants(ALL, "failing", 7, AT, LISTS)
    assert not wants(ALL, "changed", 7, AT - timedelta(milliseconds=1), LISTS)


def test_page_or_list_narrows_it() -> None:
    of_page, of_list = replace(ALL, page=7), replace(ALL, list_id="a1")
    assert wants(of_page, "changed", 7, AT, set())
    assert not wants(of_page, "changed", 8, AT, LISTS)
    assert wants(of_list, "changed", 7, AT, LISTS)
    assert not wants(of_list, "changed", 8, AT, LISTS)
