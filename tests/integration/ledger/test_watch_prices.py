"""The day's visits go where they keep pages freshest; the price that does it is fitted daily, for all ledgers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.rules.watch_due import USUAL
from ledger.services.watch_prices import PriceService
from ledger.services.watch_terms import WatchTerms
from ledger.store.models_watch import WatchState
from ledger.store.watch_reports import STATE_COLUMNS
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, ledger_at
from tests.integration.ledger.watching import StoppedClock, Watch


@pytest.fixture
def watch(tmp_path: Path, prefect: FakePrefect) -> Iterator[Watch]:
    clock = StoppedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        yield Watch(desk, clock)


def teach(desk: Desk, page_id: str, changes_a_day: float) -> None:
    """As if many visits had told how often the page changes."""
    counts = dict.fromkeys(("visits", "changes", "not_modified", "failed_visits", "failures"), 0)
    row = {**dict.fromkeys(STATE_COLUMNS), **counts, "failing_told": False, "rate": [changes_a_day * 50, 50.0]}
    with desk.parts.store.writing() as tx:
        tx.add(WatchState(page_id=int(page_id[1:]), **row))


def service(watch: Watch, visits_a_day: float | None) -> PriceService:
    return PriceService(watch.desk.parts.store, watch.clock, WatchTerms(visits_a_day=visits_a_day))


def test_smaller_budget_costs_more_and_a_new_fit_waits_for_a_day(watch: Watch) -> None:
    for number, rate in enumerate((0.05, 0.2, 0.7, 2.0)):
        (page,) = watch.add(f"http://h{number}.example/")
        teach(watch.desk, page, rate)
    assert service(watch, 8).now() == USUAL
    assert service(watch, 8).once()
    rich = service(watch, 8).now()
    assert not service(watch, 2).once()
    watch.clock.advance(86_400)
    assert service(watch, 2).once()
    poor = service(watch, 2).now()
    assert poor.price.days > rich.price.days
    assert 0.2 < poor.population.per_day < 1.5


def test_many_new_pages_are_a_reason_to_fit_at_once(watch: Watch) -> None:
    watch.add("http://h0.example/", "http://h1.example/")
    assert service(watch, None).once()
    watch.add("http://h2.example/")
    assert not service(watch, None).once()
    watch.add("http://h3.example/", "http://h4.example/")
    assert service(watch, None).once()


def test_without_pages_nothing_is_fitted(watch: Watch) -> None:
    assert not service(watch, None).once()


@pytest.mark.one_database
def test_ledger_takes_the_price_of_another_ledger(watch: Watch) -> None:
    (page,) = watch.add("http://h0.example/")
    teach(watch.desk, page, 3.0)
    assert service(watch, 100).once()
    found = watch.desk.parts.watching.prices.now()
    assert found == service(watch, 100).now() != USUAL
