"""The day's visits go where they keep pages freshest; the price that does it is fitted daily, for all ledgers."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ledger.rules.watch_due import USUAL
from ledger.services.watch_prices import PriceService
from ledger.services.watch_terms import WatchTerms
from ledger.store import watch_price
from ledger.store.models_price import WatchPrice
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


def by_fixed_interval(watch: Watch, minutes: int) -> None:
    watch.add("http://often.example/", settings={"fixedIntervalMs": minutes * 60_000})


def test_smaller_budget_costs_more_and_a_new_fit_waits_for_a_day_or_another_budget(watch: Watch) -> None:
    for number, rate in enumerate((0.05, 0.2, 0.7, 2.0)):
        (page,) = watch.add(f"http://h{number}.example/")
        teach(watch.desk, page, rate)
    assert service(watch, 8).now() == USUAL
    assert service(watch, 8).once()
    rich = service(watch, 8).now()
    assert not service(watch, 8).once()
    watch.clock.advance(86_400)
    assert service(watch, 8).once()
    assert service(watch, 2).once()
    poor = service(watch, 2).now()
    assert poor.price.days > rich.price.days
    assert 0.2 < poor.population.per_day < 1.5


def test_many_new_pages_are_a_reason_to_fit_at_once(watch: Watch) -> None:
    watch.add(*(f"http://h{number}.example/" for number in range(4)))
    assert service(watch, None).once()
    watch.add("http://h4.example/")
    by_fixed_interval(watch, 1)
    assert not service(watch, None).once()
    watch.add("http://h5.example/")
    assert service(watch, None).once()


def test_pages_that_get_a_fixed_interval_or_lose_it_are_a_reason_to_fit_at_once(watch: Watch) -> None:
    pages = [watch.add(f"http://h{number}.example/")[0] for number in range(3)]
    assert service(watch, None).once()
    watch.change(pages[0], settings={"fixedIntervalMs": 60_000})
    assert service(watch, None).once()
    assert not service(watch, None).once()
    watch.change(pages[0], settings={})
    assert service(watch, None).once()


def test_canary_with_a_fixed_interval_takes_its_pages_out_of_the_budget(watch: Watch) -> None:
    watch.add("http://h0.example/", "http://h1.example/")
    watch.add("http://h2.example/", settings={"canary": "fast"})
    terms = WatchTerms(canaries={"fast": {"fixedIntervalMs": 60_000}, "calm": {"maskDigits": True}})
    assert PriceService(watch.desk.parts.store, watch.clock, terms).once()
    with watch.desk.parts.store.reading() as tx:
        fitted = watch_price.last(tx)
    assert fitted is not None
    assert (fitted.pages, fitted.visits_a_day) == (2, 2.0)


def waits_days(watch: Watch, pages: list[str]) -> list[float]:
    return [
        (datetime.fromisoformat(watch.page(page)["next"]["dueAt"]) - watch.clock()) / timedelta(days=1)
        for page in pages
    ]


def test_page_a_minute_takes_nothing_from_the_others(watch: Watch) -> None:
    by_fixed_interval(watch, 1)
    pages = [watch.add(f"http://h{number}.example/")[0] for number in range(7)]
    for page, rate in zip(pages, (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0), strict=True):
        teach(watch.desk, page, rate)
    prices = service(watch, None)
    assert prices.once()
    for _ in range(8):
        watch.wait(61)
        for job in watch.claim():
            watch.done(job, "unchanged" if "often" in job["url"] else "not-modified")
    spent = [1 / days for days in waits_days(watch, pages)]
    assert 5 < sum(spent) < 9.5, "one visit a page and day on average, as it was planned"
    watch.wait(86_400)
    assert prices.once()
    assert prices.now().price.days < 1e3


def test_pages_that_a_wrong_price_put_off_come_back_spread_and_say_why(watch: Watch) -> None:
    by_fixed_interval(watch, 1)
    pages = [watch.add(f"http://h{number}.example/")[0] for number in range(7)]
    for page in pages:
        teach(watch.desk, page, 0.5)
    prices = watch.desk.parts.watching.prices
    with watch.desk.parts.store.writing() as tx:
        wrong = WatchPrice(
            days=1e12, correction=1.0, shape=1.0, exposure_days=7.0, visit_id=0, pages=30, visits_a_day=30
        )
        wrong.fitted_at = watch.clock()
        watch_price.keep(tx, wrong)
    for job in watch.claim():
        watch.done(job, "not-modified")
    failed = watch.add("http://gone.example/")[0]
    watch.done(watch.only(), "failed")
    before = watch.counts()
    assert min(waits_days(watch, pages)) > 20
    gone_at = watch.page(failed)["next"]["dueAt"]
    assert prices.once()
    waits = waits_days(watch, pages)
    assert max(waits) < 3
    assert max(waits) - min(waits) > 0.05
    assert all("is its share of the budget" in watch.page(page)["next"]["because"] for page in pages)
    assert watch.page(failed)["next"]["dueAt"] == gone_at
    assert watch.counts() == before
    watch.wait(86_400 * 3)
    assert len(watch.claim(20)) == 9


def test_without_pages_nothing_is_fitted(watch: Watch) -> None:
    assert not service(watch, None).once()


@pytest.mark.one_database
def test_ledger_takes_the_price_of_another_ledger(watch: Watch) -> None:
    (page,) = watch.add("http://h0.example/")
    teach(watch.desk, page, 3.0)
    assert service(watch, 100).once()
    found = watch.desk.parts.watching.prices.now()
    assert found == service(watch, 100).now() != USUAL
