"""A page with everything that replays go wrong on: pictures, pictures far down, a style, frames of two hosts, a script.

It is the same in every browser and at every time, so that pictures of it can be compared.
"""

from dataclasses import dataclass
from typing import Any

from tests.e2e.chromium import Tab
from tests.integration.capture.server import script
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

PATH = "/gallery"
LAZY = tuple(f"/pictures/clouds-{number}-320.png" for number in (60, 61, 62))
STYLE = (
    b"body { margin: 0; background: #f3e9d2; font: 20px/1.4 sans-serif }"
    b"h1 { background: #1d3557; color: white; margin: 0 }"
    b"iframe { border: 0; width: 300px; height: 120px } .gap { height: 3000px; background: #a8dadc }"
)
SCROLLS = script(
    "scrolls",
    "(async () => { for (let y = 0; y < document.body.scrollHeight; y += 400) { scrollTo(0, y);"
    " await new Promise(r => setTimeout(r, 50)); } scrollTo(0, 0); })()",
)
"""A behavior that comes by every picture."""


@dataclass(frozen=True)
class View:
    """A place of the page that is looked at: how far down, and what must be there first (over `page`, its document)."""

    name: str
    scroll_px: int
    ready: str


VIEWS = (
    View(
        "top",
        0,
        "page.fonts.status === 'loaded' && page.querySelector('#said')?.textContent === 'GET '"
        " && page.images[0]?.complete && page.images[0].naturalWidth > 0"
        " && [...page.querySelectorAll('iframe')].every(frame => frame.contentDocument ? "
        "frame.contentDocument.querySelector('h2') : true)",
    ),
    View(
        "lazy",
        3000,
        "[...page.images].slice(1).length === 3"
        " && [...page.images].every(image => image.complete && image.naturalWidth > 0)",
    ),
)


FRAMED = ["Frame of host 0", "Frame of host 1"]
FRAMES_SAY = (
    "(all => all.every(Boolean) && all)"
    "([...page.querySelectorAll('iframe')].map(one => one.contentDocument?.querySelector('h2')?.textContent))"
)
"""What the frames of a replayed page show, once they do: both come from the player's own host there."""


def put_up(site: FixtureSite) -> str:
    """Serves the page; its URL."""
    lazy = "".join(f'<img loading=lazy src="{path}" width=320 height=180 alt="">' for path in LAZY)
    site.set("/gallery.css", Response(body=STYLE, content_type="text/css"))
    for host, colour in ((0, "#e63946"), (1, "#2a9d8f")):
        framed = f"<!doctype html><body style='background: {colour}'><h2>Frame of host {host}</h2>"
        site.set("/framed", html(framed), host=host)
    body = (
        "<!doctype html><title>Gallery</title><link rel=stylesheet href=/gallery.css><h1>Gallery</h1>"
        '<img src="/pictures/orchard-1-320.png" width=320 height=180 alt="">'
        f'<iframe src="/framed"></iframe><iframe src="{site.url(1, "/framed")}"></iframe><p id=said></p>'
        "<script>fetch('/echo').then(answer => answer.text())"
        ".then(text => { document.querySelector('#said').textContent = text })</script>"
        f"<div class=gap></div>{lazy}<div style='height: 800px'></div>"
    )
    site.set(PATH, html(body))
    return site.url(0, PATH)


def pictures(tab: Tab, document: str, clip: dict[str, Any] | None = None) -> dict[str, bytes]:
    """A picture of each view, once it is ready. `document` gives the page's document, null until it is there."""
    tab.call("Emulation.setScrollbarsHidden", hidden=True)
    taken = {}
    for view in VIEWS:
        look = f"(page.defaultView.scrollTo(0, {view.scroll_px}), {view.ready})"
        tab.wait_for(f"(() => {{ const page = {document}; return page && page.body && {look} }})()")
        taken[view.name] = tab.picture(clip)
    return taken
