"""Scripts in the page: before it, after it, and none at all."""

from typing import Any

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, script
from tests.site.fixture import FixtureSite
from tests.site.wire import html

pytestmark = pytest.mark.browser

TELLS = (
    "<!doctype html><title>page</title><script>document.title = typeof __bh + ' ' + (window.before || 'none')</script>"
)


def test_preload_runs_before_the_page_and_in_every_frame(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/told", html("<!doctype html><script>fetch('/echo?frame=' + (window.before || 'none'))</script>"))
    site.set("/tells", html(f"{TELLS}<iframe src='{site.url(1, '/told')}'></iframe>"))
    source = "globalThis.before = 'here'"
    report = server.capture(site.url(0, "/tells"), preload=[script("early", source)])
    archive = Archive.of(report)
    assert archive.pages[0]["title"] == "undefined here"
    assert archive.responses("/echo?frame=here")
    assert archive.members["scripts/preload-early.js"] == source.encode()


def test_without_scripts_nothing_is_injected(server: CaptureServer, site: FixtureSite) -> None:
    probe = (
        "<!doctype html><script>const before = new Set(Object.getOwnPropertyNames(window));"
        "setTimeout(() => { document.title = [typeof __bh, ...Object.getOwnPropertyNames(window)"
        ".filter(name => !before.has(name))].join() }, 400)</script>"
    )
    site.set("/bare", html(probe))
    report = server.capture(
        site.url(0, "/bare"),
        "wacz",
        "html",
        loadWait={"minMs": 700, "maxMs": 3000, "quietMs": 100, "networkConcurrency": 0},
    )
    archive = Archive.of(report)
    assert archive.pages[0]["title"] == "undefined"
    assert not [name for name in archive.members if name.startswith(("scripts/", "behaviors/"))]


def test_behavior_reports_and_what_it_fetches_is_recorded(server: CaptureServer, site: FixtureSite) -> None:
    first = (
        "(async () => { __bh.report('fetcher', {early: true});"
        "const answer = await fetch('/echo?by=' + __bh.opts.fetcher.who); await answer.text();"
        "__bh.report('fetcher', {left: __bh.remainingMs(), status: answer.status}); window.ran = 1 })()"
    )
    second = "__bh.report('second', {sawFirst: window.ran === 1})"
    report = server.capture(
        site.url(0, "/zoo/landed"), behaviors=[script("fetcher", first, who="me"), script("second", second)]
    )
    archive = Archive.of(report)
    reports = archive.reports()
    assert reports["fetcher"]["outcome"] == "done"
    assert reports["fetcher"]["data"]["status"] == 200
    assert 0 < reports["fetcher"]["data"]["left"] <= 6000
    assert reports["second"]["data"] == {"sawFirst": True}
    assert archive.responses("/echo?by=me")


def test_behavior_that_fails_lets_the_next_one_run(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(
        site.url(0, "/zoo/landed"),
        behaviors=[
            script("throws", "throw new Error('my own')"),
            script("too-long", "__bh.report('too-long', 'x'.repeat(70000))"),
            script("stranger", "__bh.report('someone', 1)"),
            script("last", "__bh.report('last', null)"),
        ],
    )
    reports = Archive.of(report).reports()
    assert report["status"] == "success"
    assert reports["throws"]["error"] == "Error: my own"
    assert reports["too-long"]["outcome"] == "threw"
    assert "data" not in reports["too-long"]
    assert reports["stranger"]["outcome"] == "threw"
    assert reports["last"]["outcome"] == "done"


def test_behavior_without_end_is_stopped_by_the_budget(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(
        site.url(0, "/zoo/landed"), behaviors=[script("endless", "new Promise(() => {})"), script("late", "1")]
    )
    reports = Archive.of(report).reports()
    assert report["status"] == "success"
    assert reports["endless"]["outcome"] == "timeout"
    assert reports["late"]["outcome"] == "not-run"


SCROLL = (
    "(async () => {{ scrollTo(0, {to}); await new Promise(r => setTimeout(r, 100)); scrollTo(0, 0);"
    "__bh.report('scroller', {{reachedBottom: {bottom}, cutBy: {cut}}}) }})()"
)


@pytest.mark.parametrize(
    ("scripts", "seen_px", "complete", "cut_by"),
    [
        ([], 800, False, None),
        ([script("scroller", SCROLL.format(to=1500, bottom="false", cut="'endless'"))], 2300, False, "endless"),
        ([script("scroller", SCROLL.format(to=9999, bottom="true", cut="null"))], 3000, True, None),
    ],
    ids=["not-scrolled", "cut", "to-the-end"],
)
def test_coverage_tells_how_far_down_the_page_was_seen(
    server: CaptureServer, site: FixtureSite, scripts: list[Any], seen_px: int, complete: bool, cut_by: str | None
) -> None:
    site.set("/tall", html("<!doctype html><body style='margin: 0'><div style='height: 3000px'></div>"))
    report = server.capture(site.url(0, "/tall"), behaviors=scripts)
    told = report["coverage"]
    assert (told["documentHeightPx"], told["viewportHeightPx"]) == (3000, 800)
    assert (told["seenHeightPx"], told["complete"], told.get("cutBy")) == (seen_px, complete, cut_by)
    assert ("scroller" in told["claims"]) is bool(scripts)
    assert Archive.of(report).package["comity"]["coverage"] == told
