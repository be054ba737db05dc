"""An archive of a crawl, opened in ReplayWeb.page with the site gone."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.chromium import open_tab
from tests.e2e.conftest import COMITY, Stack
from tests.e2e.replay import REPLAYED_DOCUMENT, replayed
from tests.e2e.test_crawl import local
from tests.site import FixtureSite

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.prefect]


def test_the_archive_shows_the_page_with_style_and_images_while_the_site_is_gone(
    stack: Stack, site: FixtureSite, tmp_path: Path
) -> None:
    crawl_id = stack.start(seeds=[site.seeds[0]], maxDepth=0)
    assert stack.finished(crawl_id).state == "succeeded"
    (page,) = stack.ledger.pages(crawl_id).pages
    with site.gone(), replayed(local(page.artifacts["wacz"]), page.url) as tab:
        tab.wait_for(f"{REPLAYED_DOCUMENT}?.readyState === 'complete'")
        heading = tab.evaluate(f"{REPLAYED_DOCUMENT}.querySelector('h1').textContent")
        assert heading
        assert heading in str(tab.evaluate(f"{REPLAYED_DOCUMENT}.body.innerText"))
        shown = tab.wait_for(
            f"(() => {{ const images = [...{REPLAYED_DOCUMENT}.images].filter(i => i.loading !== 'lazy');"
            " return images.length > 0 && images.every(i => i.complete) && images.map(i => i.naturalWidth); })()"
        )
        assert all(width > 0 for width in shown), shown
        colour = tab.evaluate(f"(d => d.defaultView.getComputedStyle(d.body).backgroundColor)({REPLAYED_DOCUMENT})")
        assert colour not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"), "the page's own style is missing"
        tab.screenshot(tmp_path / "replayed.png")
        assert (tmp_path / "replayed.png").stat().st_size > 20_000


def test_a_crawl_is_replayed_by_its_id_from_the_list_of_its_pages(stack: Stack, site: FixtureSite) -> None:
    crawl_id = stack.start(seeds=site.seeds[:2], maxDepth=0, perHostDelayMs=100)
    assert stack.finished(crawl_id).state == "succeeded"
    replay = subprocess.Popen(
        [COMITY, "replay", crawl_id, "--data", str(stack.data), "--no-open"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert replay.stdout is not None
        address = replay.stdout.readline().strip()
        with site.gone(), open_tab(address) as tab:
            tab.wait_for("document.querySelectorAll('li a').length === 2")
            assert all(seed in tab.evaluate("document.body.innerText") for seed in site.seeds[:2])
            tab.evaluate("document.querySelectorAll('li a')[1].click()")
            tab.wait_for(
                f"location.pathname.includes('/view/') && {REPLAYED_DOCUMENT}?.querySelector('h1')?.textContent"
            )
    finally:
        replay.send_signal(signal.SIGINT)
        assert replay.wait(60) == 0
        if replay.stdout is not None:
            replay.stdout.close()
