"""The scripts that we ship: they compile together, and do in a real browser what their options promise.

The verdict on what was loaded comes from the site's log.
"""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from tests.e2e.chromium import Tab, open_tab
from tests.integration.tscompile.conftest import Service, script
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html
from tests.site.zoo.pages import ASKED_WITHOUT_SCRIPT, FEED_ITEMS, FEED_PAGES, LAZY, VARIANTS

pytestmark = pytest.mark.browser

CATALOGUE = resources.files("ledger").joinpath("catalogue")
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(CATALOGUE.joinpath("catalogue.json").read_text(encoding="utf-8"))[
        "scripts"
    ]
    return found


@pytest.fixture(scope="session")
def compiled(service: Service) -> dict[str, str]:
    """JavaScript by script id."""
    texts = {entry["id"]: CATALOGUE.joinpath(entry["file"]).read_text(encoding="utf-8") for entry in entries()}
    return dict(zip(texts, service.javascript(*(script(*each) for each in texts.items())), strict=True))


@pytest.fixture(scope="module")
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=3) as started:
        yield started


@pytest.fixture(autouse=True)
def fresh(site: FixtureSite) -> None:
    site.restore()
    site.clear_log()


def run(
    tab: Tab, javascript: str, script_id: str, options: dict[str, Any] | None = None, remaining_ms: int = 60_000
) -> dict[str, Any]:
    """Runs a behavior as the capture server does, with a receptacle, and returns its one report."""
    tab.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
    opts = json.dumps({} if options is None else {script_id: options})
    tab.evaluate(
        "globalThis.__reports = []; globalThis.__bh = ((end) => ({"
        f"opts: {opts}, remainingMs: () => end - performance.now(),"
        f"report: (id, data) => __reports.push([id, data])}}))(performance.now() + {remaining_ms}); 0"
    )
    tab.evaluate(javascript, timeout_s=60)
    ((reported_by, report),) = tab.evaluate("__reports")
    assert reported_by == script_id
    assert isinstance(report, dict)
    return report


def pictures_asked_for(site: FixtureSite) -> set[str]:
    return {entry.path for entry in site.log if entry.path.startswith(("/pictures/", "/kept/"))}


def test_catalogue_names_its_files_and_only_known_options() -> None:
    listed = entries()
    assert [entry["id"] for entry in listed] == ["autofetch", "autoscroll"]
    files = {path.name for path in CATALOGUE.iterdir() if path.name.endswith(".ts")}
    assert {entry["file"] for entry in listed} == files
    for entry in listed:
        assert entry["phase"] == "behavior"
        assert entry["description"]


def test_scripts_leave_nothing_in_the_global_scope(compiled: dict[str, str], site: FixtureSite) -> None:
    names = "Object.getOwnPropertyNames(globalThis).filter(n => n !== '__bh' && n !== '__reports').sort().join()"
    with open_tab(site.url(0, "/zoo/variants")) as tab:
        tab.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
        before = tab.evaluate(names)
        for script_id, javascript in compiled.items():
            run(tab, javascript, script_id)
            run(tab, javascript, script_id)  # a name declared at the top would clash the second time
        assert tab.evaluate(names) == before


# --- autofetch ----------------------------------------------------------------------------------------------------


def test_autofetch_loads_every_variant_that_no_browser_asks_for(compiled: dict[str, str], site: FixtureSite) -> None:
    with open_tab(site.url(0, "/zoo/variants")) as tab:
        tab.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
        assert pictures_asked_for(site) == {VARIANTS[name] for name in ASKED_WITHOUT_SCRIPT}
        report = run(tab, compiled["autofetch"], "autofetch", entry_options("autofetch"))
    assert pictures_asked_for(site) == set(VARIANTS.values())
    assert (report["failed"], report["left"], report["cutBy"], report["unreadableSheets"]) == (0, 0, None, 0)
    assert report["fetched"] == len(VARIANTS) - len(ASKED_WITHOUT_SCRIPT)
    assert report["found"] == report["fetched"] + report["skipped"]
    assert all(len(site.asked_for(path)) == 1 for path in VARIANTS.values())
    assert "ignoredOptions" not in report


def entry_options(script_id: str) -> dict[str, Any]:
    (options,) = [entry["options"] for entry in entries() if entry["id"] == script_id]
    assert isinstance(options, dict)
    return options


def test_autofetch_asks_as_a_picture_would(compiled: dict[str, str], site: FixtureSite) -> None:
    with open_tab(site.url(0, "/zoo/variants")) as tab:
        run(tab, compiled["autofetch"], "autofetch")
    by_browser, by_script = (site.asked_for(VARIANTS[name])[0].headers for name in ("img-src", "srcset-1280"))
    for name in ("accept", "sec-fetch-dest", "sec-fetch-mode"):
        assert by_script[name] == by_browser[name]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], set()),
        (["srcset"], {"srcset-640", "srcset-1280", "srcset-2x", "source", "source-type"}),
        (["data"], {"data-src", "data-srcset", "data-background", "noscript"}),
        (["css"], {"style-media", "style-unused", "sheet-media"}),
    ],
)
def test_autofetch_loads_only_the_kinds_asked_for(
    compiled: dict[str, str], site: FixtureSite, kinds: list[str], expected: set[str]
) -> None:
    with open_tab(site.url(0, "/zoo/variants")) as tab:
        run(tab, compiled["autofetch"], "autofetch", {"kinds": kinds})
    assert pictures_asked_for(site) == {VARIANTS[name] for name in ASKED_WITHOUT_SCRIPT | expected}


# Where a candidate hides -> the paths below /kept/ that it must make the browser ask for.
CANDIDATES: list[tuple[str, set[str]]] = [
    ("<img srcset='data:image/png;base64,AA== 1x, /kept/after-data 2x'>", {"after-data"}),
    ("<img srcset='/kept/a,b,c 1x,/kept/d 2x'>", {"a,b,c", "d"}),
    ("<img srcset='/kept/bare,, ,/kept/next\t3x'>", {"bare", "next"}),
    ("<img srcset='/kept/wrong 2q, /kept/twice 1x 2x, /kept/zero 0w, /kept/fine 20w 10h'>", {"fine"}),
    ("<img srcset='/kept/brackets x(1, 2), /kept/good 2x'>", {"good"}),
    ("<img loading=lazy style='position:absolute; top:99999px' src='/kept/lazy'>", {"lazy"}),
    ("<img data-lazy-src='/kept/1' data-original='/kept/2' data-lazy='kept/3'>", {"1", "2", "3"}),
    ("<div data-bg=\"url('/kept/bg')\" data-bgset='/kept/bg1 1x, /kept/bg2 2x'></div>", {"bg", "bg1", "bg2"}),
    ("<p data-image='{\"src\": \"/kept/json\"}' data-full='true' data-img='1.5'></p>", set()),
    ("<iframe data-src='/kept/frame'></iframe><script type=x data-src='/kept/script'></script>", set()),
    ("<style>@media print { p { background: image-set('/kept/s1' 1x, url(/kept/s2) 2x) } }</style>", {"s1", "s2"}),
    ("<style>@supports (display: grid) { @layer l { .x { background: url(/kept/in) } } }</style>", {"in"}),
    ("<style>.x { cursor: url(/kept/c\\61 t), auto; mask: url('/kept/m#part') }</style>", {"cat", "m"}),
    ("<style>@font-face { font-family: F; src: url(/kept/font.woff2) }</style>", {"font.woff2"}),
    ("<style>.x { content: 'url(/kept/string)' } /* url(/kept/comment) */</style>", set()),
    ("<style>@namespace svg url(/kept/namespace); .x { color: red }</style>", set()),
    ("<div hidden style='background: url(&quot;/kept/style&quot;)'></div>", {"style"}),
    ("<link rel='shortcut icon' href='/kept/icon'><link rel=apple-touch-icon href='/kept/touch'>", {"icon", "touch"}),
    ("<link rel=preload as=image media='(min-width: 9999px)' href='/kept/p' imagesrcset='/kept/p2 2x'>", {"p", "p2"}),
    ("<noscript><img src='/kept/ns'><img width=1 height=1 src='/kept/pixel'></noscript>", {"ns"}),
    ("<div><template shadowrootmode=open><img srcset='/kept/sh1 1x, /kept/sh2 2x'></template></div>", {"sh1", "sh2"}),
    ("<video preload=none><source src='/kept/film'></video><a href='/kept/link'>x</a>", set()),
    ("<img data-src='mailto:x@y.test' data-original='javascript:0'>", set()),
]


@pytest.mark.parametrize(("markup", "expected"), CANDIDATES)
def test_autofetch_finds_candidates_and_nothing_else(
    compiled: dict[str, str], site: FixtureSite, shared_tab: Tab, markup: str, expected: set[str]
) -> None:
    serve_candidates(site, markup)
    shared_tab.call("Page.navigate", url=site.url(0, "/candidates"))
    shared_tab.wait_for("document.readyState === 'complete' && location.pathname === '/candidates'")
    report = run(shared_tab, compiled["autofetch"], "autofetch")
    assert {path.removeprefix("/kept/") for path in pictures_asked_for(site)} == expected
    assert (report["failed"], report["cutBy"]) == (0, None)


def serve_candidates(site: FixtureSite, markup: str) -> None:
    site.set("/candidates", html(f"<!doctype html><meta charset=utf-8><title>c</title><body>{markup}"))
    for name in {path for _, paths in CANDIDATES for path in paths} | {"film", "foreign"}:
        site.set(
            f"/kept/{name}", Response(body=PNG, content_type="image/png", headers=(("cache-control", "no-store"),))
        )


@pytest.fixture(scope="module")
def shared_tab() -> Iterator[Tab]:
    with open_tab("about:blank") as tab:
        yield tab


def test_autofetch_takes_media_only_when_asked(compiled: dict[str, str], site: FixtureSite) -> None:
    serve_candidates(site, "<video preload=none><source src='/kept/film'></video>")
    with open_tab(site.url(0, "/candidates")) as tab:
        assert run(tab, compiled["autofetch"], "autofetch")["found"] == 0
        assert run(tab, compiled["autofetch"], "autofetch", {"kinds": ["media"]})["fetched"] == 1
    (film,) = site.asked_for("/kept/film")
    assert film.bytes_sent == len(PNG)


@pytest.mark.parametrize(("same_origin_only", "asked"), [(False, 1), (True, 0)])
def test_autofetch_keeps_to_the_origin_when_told(
    compiled: dict[str, str], site: FixtureSite, same_origin_only: bool, asked: int
) -> None:
    serve_candidates(site, f"<img data-src='{site.url(1, '/kept/foreign')}'>")
    with open_tab(site.url(0, "/candidates")) as tab:
        report = run(tab, compiled["autofetch"], "autofetch", {"sameOriginOnly": same_origin_only})
    assert len(site.asked_for("/kept/foreign", host=1)) == asked
    assert (report["fetched"], report["skipped"]) == (asked, 1 - asked)


@pytest.mark.parametrize(("allowed", "unreadable", "asked"), [(True, 0, {"foreign"}), (False, 1, set())])
def test_autofetch_reads_foreign_sheets_where_they_may_be_read(
    compiled: dict[str, str], site: FixtureSite, allowed: bool, unreadable: int, asked: set[str]
) -> None:
    serve_candidates(site, f"<link rel=stylesheet href='{site.url(1, '/sheet.css')}'>")
    cors = (("access-control-allow-origin", "*"),) if allowed else ()
    sheet = b"@media print { .never { background: url(kept/foreign) } }"
    site.set("/sheet.css", Response(body=sheet, content_type="text/css", headers=cors))
    with open_tab(site.url(0, "/candidates")) as tab:
        report = run(tab, compiled["autofetch"], "autofetch")
    assert report["unreadableSheets"] == unreadable
    assert {entry.path.removeprefix("/kept/") for entry in site.requests(1) if "/kept/" in entry.path} == asked


def test_autofetch_counts_failures_and_lets_no_staller_hold_it(compiled: dict[str, str], site: FixtureSite) -> None:
    serve_candidates(site, "<img data-src='/kept/gone'><img data-src='/kept/silent'><img data-src='/kept/lazy'>")
    site.fail("/kept/gone", 404)
    site.fail("/kept/silent", "silent")
    with open_tab(site.url(0, "/candidates")) as tab:
        report = run(tab, compiled["autofetch"], "autofetch", {"urlTimeoutMs": 500})
    assert (report["fetched"], report["failed"], report["cutBy"]) == (1, 2, None)
    assert {url.rpartition("/")[2] for url in report["failures"]} == {"gone", "silent"}


@pytest.mark.parametrize(
    ("options", "remaining_ms", "cut_by"),
    [
        ({"maxUrls": 2}, 60_000, "maxUrls"),
        ({"maxMs": 2_500, "concurrency": 1}, 60_000, "maxMs"),
        ({"concurrency": 1}, 3_000, "deadline"),
    ],
)
def test_autofetch_stops_at_its_limits_and_says_which(
    compiled: dict[str, str], site: FixtureSite, options: dict[str, Any], remaining_ms: int, cut_by: str
) -> None:
    serve_candidates(site, "".join(f"<img data-src='/kept/{name}'>" for name in ("1", "2", "3")))
    if cut_by != "maxUrls":
        site.fail("/kept/1", "silent")
    with open_tab(site.url(0, "/candidates")) as tab:
        report = run(tab, compiled["autofetch"], "autofetch", options, remaining_ms)
    assert report["cutBy"] == cut_by
    assert report["left"] >= 1
    assert report["found"] == report["fetched"] + report["failed"] + report["skipped"] + report["left"] == 3


def test_autofetch_names_options_that_do_not_fit_and_goes_on(compiled: dict[str, str], site: FixtureSite) -> None:
    serve_candidates(site, "<img data-src='/kept/1'>")
    bad = {"maxUrls": -1, "maxMs": "soon", "kinds": ["everything"], "unheardOf": 1, "concurrency": 2}
    with open_tab(site.url(0, "/candidates")) as tab:
        report = run(tab, compiled["autofetch"], "autofetch", bad)
    assert report["ignoredOptions"] == ["maxUrls", "maxMs", "kinds", "unheardOf"]
    assert report["fetched"] == 1


def test_autofetch_works_under_a_policy_that_forbids_fetch(compiled: dict[str, str], site: FixtureSite) -> None:
    serve_candidates(site, "<img data-src='/kept/1'>")
    body = "<!doctype html><title>c</title><body><img data-src='/kept/1'>"
    site.set("/candidates", html(body, headers=(("content-security-policy", "connect-src 'none'; script-src 'none'"),)))
    with open_tab(site.url(0, "/candidates")) as tab:
        assert run(tab, compiled["autofetch"], "autofetch")["fetched"] == 1


# --- autoscroll ---------------------------------------------------------------------------------------------------


def test_autoscroll_loads_what_loads_on_sight_and_returns_to_the_top(
    compiled: dict[str, str], site: FixtureSite
) -> None:
    with open_tab(site.url(0, "/zoo/lazy")) as tab:
        tab.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
        assert len(pictures_asked_for(site)) < len(LAZY)
        report = run(tab, compiled["autoscroll"], "autoscroll", entry_options("autoscroll"))
        assert tab.evaluate("scrollY") == 0
    assert pictures_asked_for(site) == set(LAZY)
    assert (report["reachedBottom"], report["cutBy"]) == (True, None)
    assert report["steps"] > 5
    assert "ignoredOptions" not in report


def test_autoscroll_follows_a_feed_to_its_end(compiled: dict[str, str], site: FixtureSite) -> None:
    with open_tab(site.url(0, "/zoo/feed")) as tab:
        report = run(tab, compiled["autoscroll"], "autoscroll")
        assert tab.evaluate("document.querySelectorAll('article').length") == FEED_PAGES * FEED_ITEMS
    assert (report["reachedBottom"], report["cutBy"]) == (True, None)
    assert report["heightAfter"] > report["heightBefore"]


@pytest.mark.parametrize(
    ("options", "remaining_ms", "cut_by"),
    [
        ({"maxGrowths": 3, "pauseMs": 30}, 60_000, "endless"),
        ({"maxGrownPx": 8_000, "pauseMs": 30}, 60_000, "endless"),
        ({"maxSteps": 4}, 60_000, "maxSteps"),
        ({"maxMs": 700}, 60_000, "maxMs"),
        ({}, 1_200, "deadline"),
    ],
)
def test_autoscroll_is_cut_on_an_endless_feed_and_says_why(
    compiled: dict[str, str], site: FixtureSite, options: dict[str, Any], remaining_ms: int, cut_by: str
) -> None:
    with open_tab(site.url(0, "/zoo/feed?endless")) as tab:
        report = run(tab, compiled["autoscroll"], "autoscroll", options, remaining_ms)
        assert tab.evaluate("scrollY") == 0
    assert (report["reachedBottom"], report["cutBy"]) == (False, cut_by)
    assert report["ms"] < 50_000


INNER = """<!doctype html><title>inner</title><style>
html, body { margin: 0; height: 100%; overflow: hidden } html { scroll-behavior: smooth }
#box { height: 100%; overflow-y: auto; scroll-behavior: smooth } #box div { height: 5000px }
</style><div id=box><div></div><img loading=lazy src="/kept/lazy" width=10 height=10></div>
<script>addEventListener('scroll', (e) => { globalThis.deepest = Math.max(globalThis.deepest ?? 0, box.scrollTop) },
{ capture: true })</script>"""


@pytest.mark.parametrize(("containers", "deepest"), [(True, 4_000), (False, 0)])
def test_autoscroll_scrolls_a_large_inner_container(
    compiled: dict[str, str], site: FixtureSite, containers: bool, deepest: int
) -> None:
    serve_candidates(site, "")
    site.set("/inner", html(INNER))
    with open_tab(site.url(0, "/inner")) as tab:
        report = run(tab, compiled["autoscroll"], "autoscroll", {"containers": containers})
        assert tab.evaluate("globalThis.deepest ?? 0") >= deepest
        assert tab.evaluate("box.scrollTop") == 0
    assert report["containers"] == int(containers)
    assert report["reachedBottom"] is True
    assert bool(site.asked_for("/kept/lazy")) is containers


def test_autoscroll_ends_where_a_page_refuses_to_scroll(compiled: dict[str, str], site: FixtureSite) -> None:
    refusing = (
        "<!doctype html><title>no</title><div style='height: 9000px'></div>"
        "<script>addEventListener('scroll', () => scrollTo({ top: 0, behavior: 'instant' }))</script>"
    )
    site.set("/refusing", html(refusing))
    with open_tab(site.url(0, "/refusing")) as tab:
        report = run(tab, compiled["autoscroll"], "autoscroll")
    assert (report["reachedBottom"], report["cutBy"]) == (False, "stuck")


def test_autoscroll_names_options_that_do_not_fit_and_goes_on(compiled: dict[str, str], site: FixtureSite) -> None:
    site.set("/short", html("<!doctype html><title>short</title><p>short"))
    with open_tab(site.url(0, "/short")) as tab:
        report = run(tab, compiled["autoscroll"], "autoscroll", {"maxSteps": 0, "containers": 1, "stepRatio": 0.5})
    assert report["ignoredOptions"] == ["maxSteps", "containers"]
    assert (report["steps"], report["reachedBottom"]) == (0, True)
