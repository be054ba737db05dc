"""A worker's settings: what canaries lay over them, and what is refused by name."""

from dataclasses import fields

import pytest

from comity.contract.watch_queue import VisitOverrides
from comity.watch.errors import WorkerHalted
from comity.watch.settings import plan_of, read_settings
from comity.watch.visit_settings import VisitSettings


def test_canary_overrides_what_it_names_and_nothing_else() -> None:
    own = VisitSettings(first_byte_ms=300, learn_fetches=True, max_redirects=2)
    assert own.overridden(None) == own.overridden(VisitOverrides()) == own
    found = own.overridden(VisitOverrides(first_byte_ms=60_000, learn_fetches=False))
    assert (found.first_byte_ms, found.learn_fetches, found.max_redirects) == (60_000, False, 2)


def test_each_setting_of_a_visit_can_be_overridden() -> None:
    assert set(VisitOverrides.model_fields) == {one.name for one in fields(VisitSettings)}


def test_canaries_of_the_worker_are_refused_and_where_they_belong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_WATCH_CANARIES", '{"patient": {"first_byte_ms": 60000}}')
    with pytest.raises(WorkerHalted, match=r"^COMITY_WATCH_CANARIES: .*LEDGER_WATCH_CANARIES.*firstByteMs"):
        read_settings()
    monkeypatch.setenv("COMITY_WATCH_CANARIES", "")
    monkeypatch.setenv("COMITY_WATCH_FIRST_BYTE_MS", "60000")
    assert plan_of(read_settings()).visits.first_byte_ms == 60_000


def test_setting_out_of_its_bounds_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_WATCH_TOTAL_MS", "1")
    with pytest.raises(WorkerHalted, match="COMITY_WATCH_TOTAL_MS"):
        read_settings()
