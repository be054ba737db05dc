"""A whole crawl through the embedded stack, judged from the site's own log, the database and the archives."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from blocks.clients.errors import CrawlInTheWayError
from tests.e2e.conftest import CRAWLS_AT_ONCE, Stack
from tests.site import FixtureSite, visits_of
from tests.site.visits import gaps_s

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect]

VALIDATE = """
import sys
from wacz.main import main
wrong = [path for path in sys.argv[1:] if main(["validate", "-f", path]) != 0]
sys.exit(f"not valid: {wrong}" if wrong else 0)
"""
"""The field's own validator over many archives in one process: most of its time is its import."""
GAP_SLACK_S = 0.02
"""Between the end of a page's last request at the site and the flow's clock that the gap is counted from."""


def local(location: str) -> Path:
    return Path(unquote(urlsplit(location).path))


def test_three_levels_are_captured_politely_and_every_archive_validates(stack: Stack, site: FixtureSite) -> None:
    crawl_id = stack.start(
        seeds=list(site.seeds), maxDepth=2, maxPages=32, perHostDelayMs=1000, hostParallelism=6, scripts=[]
    )
    crawl = stack.finished(crawl_id, within_s=170)
    assert (crawl.state, crawl.error) == ("succeeded", None)
    pages = stack.ledger.pages(crawl_id).pages
    captured = [page for page in pages if page.state == "captured"]
    assert len(captured) >= 20
    assert len({page.host for page in captured}) >= 4
    assert {page.depth for page in captured} == {0, 1, 2}
    assert crawl.counts.captured == len(captured)
    assert crawl.counts.pending == 0

    # Politeness, as the site saw it.
    assert not site.asked_for(urlsplit(site.forbidden()).path, host=1)
    (forbidden,) = [page for page in pages if page.url == site.forbidden()]
    assert forbidden.state == "skipped"
    assert str(forbidden.reason).startswith("robots-disallowed")
    assert site.overlapping_visits() == ()
    assert site.max_concurrent_visits() <= 2
    visits = visits_of(site.log)
    for index, host in enumerate(site.hosts):
        promised_s = 3.0 if index == 1 else 1.0
        gaps = gaps_s(visits, host)
        assert len(gaps) >= 1
        assert min(gaps) >= promised_s - GAP_SLACK_S, (host, gaps)
        assert len(site.requests(index, kind="robots")) <= 3

    # The ledger's evidence says the same as the site.
    assert sum(len(page.visits) for page in captured) >= len(captured)
    archives = [str(local(page.artifacts["wacz"])) for page in captured]
    done = subprocess.run([sys.executable, "-c", VALIDATE, *archives], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in captured:
        manifest = json.loads(local(str(page.manifest_location)).read_text())
        assert manifest["status"] == "success"
        assert manifest["correlationId"].startswith(f"{crawl_id}.{page.page_id}.")
    assert_no_secret_is_written(stack.data)


def assert_no_secret_is_written(data: Path) -> None:
    """No token in parameters, results, logs and artifacts (Prefect's database), in our logs, manifests and database."""
    kept = [*(data / "ledger" / "tokens").iterdir(), data / "ledger" / "sink.key", *(data / "secrets").iterdir()]
    secrets = {path.name: path.read_text().strip().encode() for path in kept}
    assert {"flows", "operator", "trigger", "sink.key", "capture", "compiler", "prefect"} <= set(secrets)
    read: set[str] = set()
    for path in data.rglob("*"):
        if path in kept or not path.is_file():
            continue
        content = path.read_bytes()
        read.add(path.name)
        assert [name for name, secret in secrets.items() if secret in content] == [], path
    assert {"prefect.db", "ledger.db", "ledger.log"} <= read
    assert any(name.endswith(".result.json") for name in read)


def test_autofetch_shows_the_site_variants_that_no_browser_asks_for(stack: Stack, site: FixtureSite) -> None:
    page = site.url(0, "/zoo/variants")
    crawl = stack.finished(stack.start(seeds=[page], maxDepth=0, perHostDelayMs=0))
    assert crawl.state == "succeeded"
    with_script = {entry.path for entry in site.requests(0, kind="resource")}
    assert {script.id for script in crawl.scripts} == {"autoscroll", "autofetch"}

    site.clear_log()
    crawl = stack.finished(stack.start(seeds=[page], maxDepth=0, perHostDelayMs=0, scripts=[]))
    assert crawl.state == "succeeded"
    assert crawl.scripts == []
    without = {entry.path for entry in site.requests(0, kind="resource")}
    assert without < with_script
    assert len(with_script - without) >= 5


def test_a_type_error_fails_the_crawl_before_any_page_is_asked_for(stack: Stack, site: FixtureSite) -> None:
    wrong = {"name": "wrong", "phase": "behavior", "source": "const width: number = 'wide';"}
    crawl = stack.finished(stack.start(seeds=[site.seeds[0]], scripts=[wrong], maxDepth=1))
    assert crawl.state == "failed"
    assert crawl.error is not None
    assert "[compile]" in crawl.error
    assert "TS2322" in crawl.error
    assert "inline-wrong" in crawl.error
    assert {entry.kind for entry in site.log} <= {"robots"}
    right = {
        "name": "right",
        "phase": "behavior",
        "source": "const width: number = 3; __bh.report('inline-right', width);",
    }
    assert stack.finished(stack.start(seeds=[site.seeds[0]], scripts=[right], maxDepth=0)).state == "succeeded"


def test_two_browsers_never_make_more_than_two_captures_at_once(stack: Stack, site: FixtureSite) -> None:
    slow = [site.url(host, "/slow?ms=1200") for host in range(6)]
    crawl = stack.finished(
        stack.start(seeds=slow, maxDepth=0, perHostDelayMs=0, hostParallelism=6, scripts=[]), within_s=90
    )
    assert crawl.state == "succeeded"
    assert crawl.counts.captured == 6
    assert site.max_concurrent(kind="page") == 2


def test_one_crawl_more_than_may_run_is_refused_and_names_the_first(stack: Stack, site: FixtureSite) -> None:
    slow = [site.url(host, "/slow?ms=20000") for host in range(CRAWLS_AT_ONCE)]
    first, *others = [stack.start(seeds=[seed], maxDepth=0, scripts=[]) for seed in slow]
    with pytest.raises(CrawlInTheWayError) as refused:
        stack.start(seeds=[site.seeds[1]])
    assert refused.value.crawl.crawl_id == first
    for crawl_id in (first, *others):
        stack.ledger.cancel(crawl_id)
    assert stack.finished(stack.start(seeds=[site.seeds[5]], maxDepth=0, scripts=[])).state == "succeeded"


def test_a_crawl_that_captures_nothing_fails_and_says_what_came_of_its_pages(stack: Stack, site: FixtureSite) -> None:
    crawl = stack.finished(stack.start(seeds=[site.url(0, "/status/500"), site.forbidden()], maxDepth=1, scripts=[]))
    assert crawl.state == "failed"
    assert crawl.error is not None
    assert "1 failed" in crawl.error
    assert "1 skipped" in crawl.error
    assert any("http_error" in failure.reason for failure in crawl.failures)


def test_cancelling_ends_the_run_and_keeps_what_was_captured(stack: Stack, site: FixtureSite) -> None:
    pages = [*site.pages(0)[:2], site.url(0, "/slow?ms=60000")]
    crawl_id = stack.start(seeds=pages, maxDepth=0, perHostDelayMs=0, scripts=[])
    assert site.wait_until(lambda log: any(entry.path.startswith("/slow") for entry in log), within_s=60)
    stack.ledger.cancel(crawl_id)
    crawl = stack.finished(crawl_id)
    assert (crawl.state, crawl.stop_reason) == ("cancelled", "cancelled")
    assert site.wait_until(
        lambda log: all(entry.finished_s is not None for entry in log if entry.path.startswith("/slow")), within_s=60
    )
    assert stack.ledger.crawl(crawl_id).counts.captured == 2
    after = stack.finished(stack.start(seeds=[site.seeds[2]], maxDepth=0, scripts=[]))
    assert after.state == "succeeded"


def test_retry_after_is_obeyed_before_the_next_page_of_the_host(stack: Stack, site: FixtureSite) -> None:
    seeds = [site.url(0, "/retry-after?seconds=4&status=429&always"), site.seeds[0]]
    crawl = stack.finished(stack.start(seeds=seeds, maxDepth=0, perHostDelayMs=100, scripts=[]))
    assert crawl.counts.captured == 1
    assert crawl.counts.failed == 1
    assert (site.smallest_gap_s(0) or 0) >= 4 - GAP_SLACK_S


@pytest.mark.parametrize("robots", [True, False])
def test_stack_visits_none_of_its_own_parts(stack: Stack, site: FixtureSite, robots: bool) -> None:
    own = [stack.addresses["ledger"], stack.addresses["prefectUi"], *stack.addresses["captures"]]
    seeds = [f"{url}/healthz" for url in own]
    wanted = {"maxDepth": 0, "perHostDelayMs": 0, "respectRobots": robots, "scripts": []}
    crawl_id = stack.start(seeds=[*seeds, site.url(0, "/zoo/landed")], **wanted)
    assert stack.finished(crawl_id).state == "succeeded"
    pages = {page.url: page for page in stack.ledger.pages(crawl_id).pages}
    assert pages[site.url(0, "/zoo/landed")].state == "captured"
    for url in seeds:
        assert pages[url].state == ("skipped" if robots else "failed"), pages[url]
        assert "COMITY_DENY" in str(pages[url].reason)
        assert str(pages[url].reason).startswith("robots-unreachable" if robots else "failed"), pages[url].reason
