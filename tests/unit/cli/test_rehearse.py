"""What a rehearsal says at its end."""

import json

import pytest

from comity.cli.watching.migrate_rehearse import report, report_as_json
from comity.watch.rules.sizing import Rehearsed, sizing

SEEN = Rehearsed(pages=600, elapsed_s=300, busy_s=600, places=8)


@pytest.mark.parametrize(
    ("visits_per_day", "words"),
    [
        (50_000, "1 worker is needed for 50000 visits a day"),
        (1_000_000, "2 workers are needed for 1000000 visits a day"),
        (None, "how many visits a day has is not known here: give --visits-per-day"),
    ],
)
def test_rehearsal_says_what_was_done_what_can_be_done_and_what_is_needed(
    visits_per_day: int | None, words: str
) -> None:
    assert report(SEEN, sizing(SEEN, visits_per_day), visits_per_day).split("\n") == [
        "600 pages in 5.0 min: 120 a minute, with 25% of 8 places taken",
        "one worker can do 480 pages a minute with all of them taken",
        words,
    ]


def test_programs_get_the_same_as_json() -> None:
    assert json.loads(report_as_json(SEEN, sizing(SEEN, 1_000_000), 1_000_000)) == {
        "pages": 600,
        "elapsedMs": 300_000,
        "places": 8,
        "pagesPerMinute": 120.0,
        "takenShare": 0.25,
        "fullPagesPerMinute": 480.0,
        "visitsPerDay": 1_000_000,
        "workers": 2,
    }
