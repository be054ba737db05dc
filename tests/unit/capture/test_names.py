"""File names of artifacts."""

from datetime import datetime, timedelta, timezone

import pytest

from comity.capture.names import day_folder, excess_bytes, file_name, stem


@pytest.mark.parametrize(
    ("correlation_id", "labels", "expected"),
    [
        (None, [], "t1.wacz"),
        ("c1.p1.1.1", [], "t1_c1.p1.1.1.wacz"),
        ("c1.p1.1.1", ["a-b", "灯台"], "t1_c1.p1.1.1_a-b_灯台.wacz"),
        (None, ["a"], "t1_a.wacz"),
    ],
)
def test_name_has_task_correlation_and_labels(correlation_id: str | None, labels: list[str], expected: str) -> None:
    assert file_name(stem("t1", correlation_id, labels), "wacz") == expected


def test_name_may_weigh_255_bytes_and_no_more() -> None:
    longest = "x" * (255 - len(".result.json"))
    assert excess_bytes(longest) == 0
    assert excess_bytes(longest + "x") == 1
    assert excess_bytes("灯" * 81) == 0
    assert excess_bytes("灯" * 82) == 3


def test_folder_is_the_utc_day() -> None:
    evening = datetime(2030, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-9)))
    assert str(day_folder(evening)) == "2030/02/01"
