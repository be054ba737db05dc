"""Every true change is told once, with the right diff; nothing else ever is."""

import itertools

from comity.contract.watch import BySelector, MainContent, WatchSettings, WholePage
from comity.watch.rules.rendering import as_text
from tests.fakes.watch_queue import FakeQueue, Page
from tests.integration.watch.conftest import plan_for, visit_all, working
from tests.site import FixtureSite
from tests.site.changing import ChangingPage, Validator, encoded_pages

WHOLE = WatchSettings(watched=WholePage())
LINES = ("A page about the harbour", "The ferry leaves at nine", "Tickets cost 12.50", "Bring a coat")


class Script:
    """Pages of the fixture web, watched."""

    def __init__(self, site: FixtureSite) -> None:
        self.site = site
        self.queue = FakeQueue()
        self.plan = plan_for(site)
        self._hosts = 0

    def watch(self, name: str, page: ChangingPage, settings: WatchSettings = WHOLE) -> Page:
        host = self._hosts % len(self.site.hosts)
        self._hosts += 1
        self.site.set(f"/{name}", page, host=host)
        return self.queue.add(self.site.url(host, f"/{name}"), settings)

    async def visit(self, times: int = 1) -> None:
        """Every page once more."""
        for _ in range(times):
            await visit_all(self.queue, self.plan)
            self.queue.due_again(*self.queue.pages.values())


async def test_true_change_is_told_once_with_its_lines(site: FixtureSite) -> None:
    script = Script(site)
    page = ChangingPage(LINES)
    watched = script.watch("plain", page)
    await script.visit(2)
    page.change(*LINES[:2], "Tickets cost 13.00", LINES[3], "Dogs travel free")
    await script.visit(3)

    assert watched.outcomes == ["first", "unchanged", "changed", "unchanged", "unchanged"]
    assert as_text(watched.told[0]) == (
        "@@ -3,1 +3,1 @@\n-Tickets cost 12.50\n+Tickets cost 13.00\n@@ -5,0 +5,1 @@\n+Dogs travel free\n"
    )


async def test_noise_is_never_told_and_hides_no_true_change(site: FixtureSite) -> None:
    script = Script(site)
    noisy = {
        "counter": ChangingPage(LINES, counter=True),
        "ads": ChangingPage(LINES, ads=True),
        "dated": ChangingPage(LINES, dated=True),
        "all": ChangingPage(LINES, counter=True, ads=True, dated=True),
    }
    watched = {name: script.watch(name, page) for name, page in noisy.items()}
    await script.visit(5)
    quiet = {name: page.outcomes for name, page in watched.items()}
    for page in noisy.values():
        page.change(LINES[0], "The ferry leaves at ten", *LINES[2:])
    await script.visit(4)

    assert quiet == {name: ["first", *["unchanged"] * 4] for name in noisy}
    for name, of in watched.items():
        assert of.outcomes[5:] == ["changed", "unchanged", "unchanged", "unchanged"], name
        changed = [(hunk.removed, hunk.added) for hunk in of.told[0].hunks]
        assert changed == [(["The ferry leaves at nine"], ["The ferry leaves at ten"])], name


async def test_order_counts_only_where_it_is_to(site: FixtureSite) -> None:
    script = Script(site)
    items = tuple(f"entry {word}" for word in ("one", "two", "three", "four", "five"))
    page = ChangingPage(LINES, shuffled=items)
    watched = script.watch("order", page, WatchSettings(watched=WholePage(), order_counts=False))
    await script.visit(4)
    page.shuffled = (*items, "entry six")
    await script.visit(2)

    assert watched.outcomes == ["first", "unchanged", "unchanged", "unchanged", "changed", "unchanged"]
    assert [hunk.added for hunk in watched.told[0].hunks] == [["entry six"]]


async def test_304_is_no_change_and_the_body_is_not_sent_again(site: FixtureSite) -> None:
    script = Script(site)
    pages: dict[Validator, ChangingPage] = {
        "etag": ChangingPage(LINES, validator="etag"),
        "last-modified": ChangingPage(LINES, validator="last-modified"),
    }
    watched = {kind: script.watch(kind, page) for kind, page in pages.items()}
    await script.visit(3)
    for page in pages.values():
        page.change("A page about the pier", *LINES[1:])
    await script.visit(3)

    for kind, of in watched.items():
        expected = ["first", "not-modified", "not-modified", "changed", "not-modified", "not-modified"]
        assert of.outcomes == expected, kind
        assert pages[kind].served == [200, 200, 304, 304, 200, 200, 304, 304], kind


async def test_encodings_are_read_right_whatever_their_label_says(site: FixtureSite) -> None:
    script = Script(site)
    pages = encoded_pages()
    watched = {name: script.watch(name, page) for name, page in pages.items()}
    await script.visit(2)
    for page in pages.values():
        page.change(page.lines[0], page.lines[2], *page.lines[2:])
    before = {name: pages[name].lines for name in pages}
    await script.visit(2)

    for name, of in watched.items():
        assert of.outcomes == ["first", "unchanged", "changed", "unchanged"], name
        assert of.content is not None
        assert of.content.text == "\n".join(before[name]), name


async def test_digits_and_ignored_lines_do_not_count_where_masked(site: FixtureSite) -> None:
    script = Script(site)
    page = ChangingPage(LINES)
    masked = script.watch("digits", page, WatchSettings(watched=WholePage(), mask_digits=True))
    ignoring = script.watch("ignored", page, WatchSettings(watched=WholePage(), ignore=["^Tickets", "(?i)COAT"]))
    await script.visit()
    page.change(*LINES[:2], "Tickets cost 99.99", LINES[3])
    await script.visit()
    page.change(*LINES[:2], "Tickets cost more", "Bring two coats")
    await script.visit()

    assert masked.outcomes == ["first", "unchanged", "changed"]
    assert ignoring.outcomes == ["first", "unchanged", "unchanged"]


async def test_selector_and_main_content_see_their_part_alone(site: FixtureSite) -> None:
    script = Script(site)
    page = ChangingPage(["<nav>home</nav>", "<main><h1>Harbour</h1><article id=times>at nine</article></main>"])
    selected = script.watch("selector", page, WatchSettings(watched=BySelector(selector="#times")))
    main = script.watch("main", page, WatchSettings(watched=MainContent()))
    await script.visit()
    page.change("<nav>start</nav>", "<main><h1>Pier</h1><article id=times>at nine</article></main>")
    await script.visit()
    page.change("<nav>start</nav>", "<main><h1>Pier</h1><article id=times>at ten</article></main>")
    await script.visit()
    page.change("<nav>start</nav>", "<main><h1>Pier</h1></main>")
    await script.visit()

    assert selected.outcomes == ["first", "unchanged", "changed", "failed"]
    assert selected.reports[-1].code == "E_CONTENT_MISSING"  # type: ignore[union-attr]
    assert main.outcomes == ["first", "changed", "changed", "changed"]


async def test_page_without_main_content_is_watched_whole_and_never_flips(site: FixtureSite) -> None:
    script = Script(site)
    links = '<nav><a href="/one">One</a></nav><nav><a href="/two">Two</a></nav>'
    main = "<main><h1>Harbour</h1><p>The ferry leaves at nine</p></main>"
    listing, article = ChangingPage([links]), ChangingPage([links, main])
    listed, read = script.watch("list", listing, WatchSettings()), script.watch("article", article, WatchSettings())
    await script.visit(2)
    assert listed.content is not None
    assert listed.content.text == "One\nTwo"
    listing.change(links, main)  # nothing but this is new, though the page has main content now
    article.change(links)
    await script.visit(2)
    listing.change(links.replace("Two", "Three"), main)
    article.change(links, main.replace("nine", "ten"))
    await script.visit(2)

    assert listed.outcomes == ["first", "unchanged", "changed", "unchanged", "changed", "unchanged"]
    assert [as_text(diff).partition("\n")[2] for diff in listed.told] == [
        "+Harbour\n+The ferry leaves at nine\n",
        "-Two\n+Three\n",
    ]
    assert read.outcomes == ["first", "unchanged", "failed", "failed", "changed", "unchanged"]
    assert as_text(read.told[0]).partition("\n")[2] == "-The ferry leaves at nine\n+The ferry leaves at ten\n"


async def test_page_that_fails_at_first_is_still_free_to_be_watched_by_its_main_content(site: FixtureSite) -> None:
    script = Script(site)
    page = ChangingPage(["<script>1</script>"])
    watched = script.watch("late", page, WatchSettings())
    await script.visit()
    page.change("<nav><a href=/>home</a></nav>", "<main><p>The ferry leaves at nine</p></main>")
    await script.visit()

    assert watched.outcomes == ["failed", "first"]
    assert watched.content is not None
    assert watched.content.text == "The ferry leaves at nine"


async def test_slot_between_lines_that_repeat_hides_nothing(site: FixtureSite) -> None:
    script = Script(site)
    page = ChangingPage(["Share", "One headline", "Share", "Another headline", "Share", "A third"], ads=True)
    watched = script.watch("repeating", page)
    await script.visit(3)
    page.change("Share", "Stop press", "Share", "Another headline", "Share", "A third")
    await script.visit()

    assert watched.outcomes[-1] == "changed"
    assert ["Stop press"] in [hunk.added for hunk in watched.told[-1].hunks]


async def test_pages_of_one_host_are_visited_one_at_a_time_with_their_gap(site: FixtureSite) -> None:
    queue = FakeQueue(gap_ms=100)
    for number in range(4):
        site.set(f"/gap-{number}", ChangingPage(LINES), host=0)
        queue.add(site.url(0, f"/gap-{number}"), WHOLE)
    async with working(queue, plan_for(site)):
        await queue.until_idle()

    assert not site.overlapping_visits()
    visits = sorted((one.started_s, one.finished_s or 0.0) for one in site.requests(0))
    assert len(visits) == 9, "robots.txt once, and each page twice, to learn"
    # The site may write an answer down as over a moment after the worker has it.
    assert min(later[0] - earlier[1] for earlier, later in itertools.pairwise(visits)) >= 0.09
