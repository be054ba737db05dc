"""A trigger's run from a real Prefect: green, red, skipped."""

from collections.abc import Sequence
from typing import Any

import pytest
from prefect.client.schemas.objects import State

import flows.trigger_crawl
from flows.trigger_crawl import trigger_crawl
from tests.fakes.http_server import Asked, Reply
from tests.fakes.ledger import CRAWL, crawl_view
from tests.integration.flows.conftest import FAST, Parts

pytestmark = pytest.mark.prefect

SEEDS = ["http://a.test/"]


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets of milliseconds."""
    monkeypatch.setattr(flows.trigger_crawl, "PACING", FAST)
    monkeypatch.setattr(flows.trigger_crawl, "POLL_MS", 50)
    monkeypatch.setattr(flows.trigger_crawl, "AWAY_BUDGET_MS", 500)


def run(**parameters: Any) -> State[Any]:
    """The trigger's final state."""
    return trigger_crawl(**parameters, return_state=True)


def say(parts: Parts, views: Sequence[Reply]) -> None:
    """A crawl starts; the ledger's answers about it in order, the last one stays."""
    left = list(views)
    parts.ledger.answers["POST /crawls"] = lambda asked: Reply(202, {"crawlId": CRAWL})
    parts.ledger.answers[f"GET /{CRAWL}"] = lambda asked: left.pop(0) if len(left) > 1 else left[0]


def test_crawl_that_succeeds_is_green(parts: Parts) -> None:
    say(parts, [Reply(body=crawl_view("running")), Reply(body=crawl_view("succeeded", stopReason="completed"))])
    state = run(seeds=SEEDS)
    assert state.is_completed()
    assert (state.message or "").startswith(f"crawl {CRAWL} succeeded: 1 captured")
    [asked] = parts.ledger.of("POST", "/crawls")
    assert asked.headers["idempotency-key"] == str(state.state_details.flow_run_id)


@pytest.mark.parametrize("ended", ["failed", "cancelled"])
def test_crawl_that_ends_badly_is_red_with_its_reason(parts: Parts, ended: str) -> None:
    say(parts, [Reply(body=crawl_view(ended, error="[compile] 1 diagnostic: TS2339"))])
    state = run(seeds=SEEDS)
    assert state.is_failed()
    assert f"crawl {CRAWL} {ended}: [compile] 1 diagnostic: TS2339" in (state.message or "")


def test_crawl_in_the_way_is_green_skipped_and_named(parts: Parts) -> None:
    body = {
        "error": "a crawl runs",
        "code": "crawl-in-the-way",
        "crawlId": "c2",
        "startedAt": "2030-01-01T02:30:00Z",
    }
    parts.ledger.answers["POST /crawls"] = lambda asked: Reply(409, body)
    state = run(seeds=SEEDS)
    assert state.is_completed()
    assert (state.name, state.message) == ("Skipped", "skipped: crawl c2 runs since 2030-01-01 02:30:00 UTC")


def test_no_enabled_target_is_green_skipped(parts: Parts) -> None:
    body = {"error": "nothing is on the list; add something", "code": "no-enabled-target"}
    parts.ledger.answers["POST /crawls"] = lambda asked: Reply(409, body)
    state = run(from_targets=True)
    assert state.is_completed()
    assert (state.name, state.message) == ("Skipped", "skipped: nothing is on the list; add something")


def test_another_conflict_is_red(parts: Parts) -> None:
    parts.ledger.answers["POST /crawls"] = lambda asked: Reply(409, {"error": "no enabled target", "code": "other"})
    assert run(from_targets=True).is_failed()


def test_bad_input_is_red_and_names_the_field(parts: Parts) -> None:
    fields = [{"field": "seeds.0", "message": "must begin with http:// or https://"}]
    parts.ledger.answers["POST /crawls"] = lambda asked: Reply(400, {"error": "bad input", "fields": fields})
    state = run(seeds=["ftp://a.test/"])
    assert state.is_failed()
    assert "seeds.0: must begin with http:// or https://" in (state.message or "")
    assert run().message == "[start] seeds: give at least one URL, or set from_targets to begin at the enabled targets"


def test_state_that_nobody_knows_is_refused(parts: Parts) -> None:
    say(parts, [Reply(body=crawl_view("paused"))])
    state = run(seeds=SEEDS)
    assert state.is_failed()
    assert (state.message or "").startswith("[wait] ")
    assert "state" in (state.message or "")


def test_ledger_away_for_a_moment_is_waited_for(parts: Parts) -> None:
    def unavailable() -> Reply:
        return Reply(503, {"error": "starting"})

    say(parts, [unavailable(), unavailable(), Reply(body=crawl_view("succeeded"))])
    assert run(seeds=SEEDS).is_completed()


def test_ledger_away_for_good_is_red(parts: Parts) -> None:
    say(parts, [Reply(500, {"error": "no disk"})])
    state = run(seeds=SEEDS)
    assert state.is_failed()
    assert "no disk" in (state.message or "")


def test_crawl_that_outlasts_the_wait_is_red_and_goes_on(parts: Parts) -> None:
    say(parts, [Reply(body=crawl_view("running"))])
    state = run(seeds=SEEDS, max_wait_minutes=0)
    assert state.is_failed()
    assert "still runs after 0 minutes (max_wait_minutes); it goes on" in (state.message or "")
    assert parts.ledger.of("POST", "/cancel") == []


def test_request_carries_what_the_form_says(parts: Parts) -> None:
    taken: list[Asked] = []

    def take(asked: Asked) -> Reply:
        taken.append(asked)
        return Reply(202, {"crawlId": CRAWL})

    say(parts, [Reply(body=crawl_view("succeeded"))])
    parts.ledger.answers["POST /crawls"] = take
    run(
        from_targets=True,
        limit=3,
        scope="same-domain",
        include=["/a"],
        exclude=["b$"],
        scripts=["autoscroll", {"id": "autofetch", "version": 2}],
        extractors=[{"id": "facts", "urlPattern": "/news/"}],
    )
    assert taken[0].body["fromTargets"] == {"limit": 3}
    assert taken[0].body["scope"] == "same-domain"
    assert (taken[0].body["include"], taken[0].body["exclude"]) == (["/a"], ["b$"])
    assert taken[0].body["extractors"] == [{"id": "facts", "urlPattern": "/news/"}]
    assert taken[0].body["scripts"] == ["autoscroll", {"id": "autofetch", "version": 2}]
