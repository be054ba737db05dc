"""What the wire models of watching let through, and what they name as wrong."""

import hashlib
from typing import Any

import pytest
from pydantic import ValidationError

from comity.contract.watch import MAX_CONTENT_BYTES, AddPages, WatchSettings
from comity.contract.watch_found import Diff
from comity.contract.watch_queue import CompleteJobs, Content

HASH = "0" * 64
EMPTY = hashlib.sha256(b"").hexdigest()
HUNK = {"beforeLine": 1, "afterLine": 1}


def _diff(**hunk: Any) -> dict[str, Any]:
    return {"hunks": [{**HUNK, **hunk}], "removedLines": 0, "addedLines": 1}


def test_settings_that_are_left_out_watch_the_main_content() -> None:
    page = AddPages.model_validate({"pages": [{"url": "http://example.com/"}]}).pages[0]
    assert page.settings.watched.kind == "main"
    assert page.settings.tell_after_failures == 3


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"fixedIntervalMs": 60_000, "minIntervalMs": 60_000}, "leaves nothing between bounds"),
        ({"minIntervalMs": 120_000, "maxIntervalMs": 60_000}, "minIntervalMs is over maxIntervalMs"),
        ({"fixedIntervalMs": 59_999}, "greater than or equal to 60000"),
        ({"watched": {"kind": "selector"}}, "selector"),
        ({"watched": {"kind": "everything"}}, "everything"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        WatchSettings.model_validate(settings)


def test_bounds_and_a_fixed_interval_are_taken_apart() -> None:
    assert WatchSettings.model_validate({"minIntervalMs": 60_000, "maxIntervalMs": 60_000}).fixed_interval_ms is None
    assert WatchSettings.model_validate({"fixedIntervalMs": 60_000}).fixed_interval_ms == 60_000


def test_blank_diff_is_refused_and_one_that_says_something_is_taken() -> None:
    with pytest.raises(ValidationError, match="blank"):
        Diff.model_validate(_diff(added=[" ", "\t"], removed=[""]))
    assert Diff.model_validate(_diff(added=["", "x"])).hunks[0].added == ["", "x"]


def test_content_is_measured_in_bytes() -> None:
    longest = "あ" * (MAX_CONTENT_BYTES // 3)
    assert Content(text=longest, sha256=hashlib.sha256(longest.encode()).hexdigest())
    with pytest.raises(ValidationError, match="cut it at its end"):
        Content(text=longest + "あ", sha256=HASH)


def test_content_with_the_hash_of_another_is_refused() -> None:
    with pytest.raises(ValidationError, match="not the hash"):
        Content(text="a", sha256=HASH)
    with pytest.raises(ValidationError, match="surrogate"):
        Content(text="\ud800", sha256=HASH)


def test_report_is_read_by_its_outcome() -> None:
    change: dict[str, Any] = {
        "token": "l1",
        "outcome": "changed",
        "beforeSha256": HASH,
        "content": {"text": "", "sha256": EMPTY},
    }
    jobs: list[dict[str, Any]] = [{"token": "l0", "outcome": "not-modified"}, {**change, "diff": _diff(added=["x"])}]
    report = CompleteJobs.model_validate({"worker": "w-1", "jobs": jobs})
    assert [job.outcome for job in report.jobs] == ["not-modified", "changed"]
    with pytest.raises(ValidationError, match="diff"):
        CompleteJobs.model_validate({"worker": "w-1", "jobs": [change]})
    with pytest.raises(ValidationError, match="content"):
        CompleteJobs.model_validate({"worker": "w-1", "jobs": [{**jobs[0], "content": change["content"]}]})
