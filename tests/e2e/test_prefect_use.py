"""Crawls started the ways that people start them in Prefect: by command, by event, on schedule."""

import json
import time

import pytest

from comity.cli.prefect_calls import PrefectCalls
from comity.contract.ledger import CrawlView
from flows.automations import NAME as AUTOMATION
from tests.e2e.conftest import Stack
from tests.site import FixtureSite

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect]


def crawl_of(stack: Stack, seed: str, within_s: float = 180) -> CrawlView:
    """The crawl of that seed, once there is one."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        found = [crawl for crawl in stack.ledger.crawls().crawls if crawl.seeds == [seed]]
        if found:
            return found[0]
        time.sleep(0.2)
    raise AssertionError(f"no crawl of {seed} within {within_s} s")


def test_stack_ends_runs_that_fall_silent_and_has_its_own_tell_of_themselves_often_enough(stack: Stack) -> None:
    environment = stack.environment
    user, _, password = environment["PREFECT_API_AUTH_STRING"].partition(":")
    with PrefectCalls(environment["PREFECT_API_URL"], (user, password)) as prefect:
        found = prefect.ask("POST", "/automations/filter", {})
    [automation] = [one for one in found if one["name"] == AUTOMATION]
    assert automation["enabled"]
    assert float(environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"]) * 2 < automation["trigger"]["within"]


def test_deployment_run_starts_a_crawl_and_sees_it_through(stack: Stack, site: FixtureSite) -> None:
    seed = site.pages(0)[1]
    done = stack.prefect(
        "deployment", "run", "trigger-crawl/trigger-crawl", "--watch",
        "-p", f"seeds={json.dumps([seed])}", "-p", "max_depth=0", "-p", "scripts=[]",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Completed" in done.stdout
    assert stack.finished(crawl_of(stack, seed).id).state == "succeeded"


def test_deployment_run_is_red_when_the_crawl_failed(stack: Stack, site: FixtureSite) -> None:
    done = stack.prefect(
        "deployment", "run", "trigger-crawl/trigger-crawl", "--watch",
        "-p", f"seeds={json.dumps([site.url(0, '/status/404')])}", "-p", "max_depth=0", "-p", "scripts=[]",
    )  # fmt: skip
    assert done.returncode != 0
    assert "Failed" in done.stdout + done.stderr


def test_a_levels_run_that_is_cancelled_in_prefect_cancels_its_crawl(stack: Stack, site: FixtureSite) -> None:
    crawl_id = stack.start(
        seeds=[site.seeds[0], site.url(0, "/slow?ms=60000")], maxDepth=0, perHostDelayMs=0, scripts=[]
    )
    assert site.wait_until(lambda log: any(entry.path.startswith("/slow") for entry in log), within_s=60)
    run = stack.ledger.crawl(crawl_id).last_run
    assert run is not None
    done = stack.prefect("flow-run", "cancel", run.id)
    assert done.returncode == 0, done.stdout + done.stderr
    crawl = stack.finished(crawl_id)
    assert (crawl.state, crawl.counts.captured, crawl.counts.pending) == ("cancelled", 1, 1)
    assert [one.ended for one in crawl.attempts] == ["cancelled"]
    assert stack.finished(stack.start(seeds=[site.seeds[2]], maxDepth=0, scripts=[])).state == "succeeded"


def test_an_event_starts_a_crawl_with_the_parameters_of_its_payload(stack: Stack, site: FixtureSite) -> None:
    seed = site.pages(2)[1]
    payload = {"seeds": [seed], "max_depth": 0, "per_host_delay_ms": 1234, "scripts": []}
    done = stack.prefect(
        "event", "emit", "comity.crawl.requested", "--resource-id", "comity.test", "--payload", json.dumps(payload)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    crawl = stack.finished(crawl_of(stack, seed).id)
    assert crawl.state == "succeeded"
    assert crawl.policy.per_host_delay_ms == 1234


def test_the_nightly_deployment_without_targets_is_green_and_starts_nothing(stack: Stack) -> None:
    before = len(stack.ledger.crawls().crawls)
    done = stack.prefect("deployment", "run", "trigger-crawl/nightly", "--watch")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(stack.ledger.crawls().crawls) == before


def test_the_doctor_finds_every_link_sound(stack: Stack) -> None:
    import subprocess

    from tests.e2e.conftest import COMITY

    done = subprocess.run(
        [COMITY, "doctor", "--data", str(stack.data)], capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
