# ruff: noqa: E501 - markup, drawings and prose are not broken where a line of code would be.
"""The zoo's paths, its index, and the cages that remember something or need to know the other hosts."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.site.wire import Handler, Request, Response, html, text
from tests.site.zoo import faults, pages

EXACT: dict[str, Callable[[Request], Response]] = {
    "/slow": faults.slow,
    "/drip": faults.drip,
    "/large": faults.large,
    "/chunked": faults.chunked,
    "/cut": faults.cut,
    "/drop": faults.drop,
    "/gzip": faults.packed,
    "/gzip/bomb": faults.bomb,
    "/not-modified": faults.not_modified,
    "/echo": faults.echo,
    "/download/orchard.csv": faults.download,
    "/block": pages.block,
    "/zoo/variants": pages.variants,
    "/zoo/variants.css": pages.variants_css,
    "/zoo/lazy": pages.lazy,
    "/zoo/feed": pages.feed,
    "/zoo/feed.json": pages.feed_json,
    "/zoo/memory": pages.memory,
    "/zoo/post": pages.post,
    "/zoo/downloads": pages.downloads,
    "/zoo/banner": pages.banner,
    "/zoo/broken-parts": pages.broken_parts,
}
PREFIXES: dict[str, Callable[[Request], Response]] = {
    "/status/": faults.status,
    "/stall/": faults.stall,
    "/length/": faults.length,
    "/gzip/": faults.packed,
    "/redirect/": faults.moved,
    "/zoo/redirect/": pages.client_redirect,
    "/zoo/restless/": pages.restless,
    "/zoo/dialog/": pages.dialog,
    "/zoo/charset/": pages.charset,
    "/zoo/robots/": pages.robots_says,
}
INDEX = (
    "/status/404", "/status/500", "/status/204", "/slow?ms=1500", "/drip?bytes=20&ms=100", "/stall/silent", "/stall/head", "/stall/body?bytes=60",
    "/large?bytes=1000000", "/chunked?bytes=200000", "/cut?bytes=60", "/cut?bytes=60&chunked", "/drop", "/length/long",
    "/length/short", "/gzip", "/gzip/broken", "/gzip/truncated", "/gzip/lie", "/gzip/bomb?mb=100", "/not-modified",
    "/download/orchard.csv", "/redirect/to?url=/zoo/landed&code=307", "/redirect/chain?n=4&code=308", "/redirect/loop",
    "/redirect/nowhere", "/retry-after?seconds=2&key=index", "/retry-after?seconds=2&status=503&always", "/block?ms=2000",
    "/zoo/variants", "/zoo/lazy", "/zoo/feed", "/zoo/feed?endless", "/zoo/memory", "/zoo/post", "/zoo/downloads",
    "/zoo/downloads?auto", "/zoo/banner", "/zoo/broken-parts", "/zoo/links", "/zoo/frame", "/zoo/redirect/meta",
    "/zoo/redirect/location", "/zoo/redirect/replace", "/zoo/redirect/late", "/zoo/restless/dom", "/zoo/restless/network",
    "/zoo/restless/hanging", "/zoo/restless/error", "/zoo/dialog/alert", "/zoo/dialog/confirm", "/zoo/dialog/prompt",
    "/zoo/dialog/unload", "/zoo/dialog/popup", "/zoo/dialog/print", "/zoo/charset/shift_jis", "/zoo/charset/shift_jis?meta",
    "/zoo/charset/euc_jp", "/zoo/charset/euc_jp?meta", "/zoo/charset/iso2022_jp", "/zoo/charset/utf-16",
    "/zoo/robots/meta", "/zoo/robots/meta-none", "/zoo/robots/meta-ours", "/zoo/robots/meta-other", "/zoo/robots/header",
    "/zoo/robots/header-ours", "/zoo/robots/header-other", "/zoo/robots/header-second",
)  # fmt: skip


class Zoo:
    """Answers whatever the tree does not; `bases` are the origins of all hosts."""

    def __init__(self, bases: tuple[str, ...]) -> None:
        self._bases = bases
        self._refused: set[tuple[int, str]] = set()
        self._lock = threading.Lock()

    def find(self, request: Request) -> Handler | Response:
        path = request.path
        own: dict[str, Handler | Response] = {
            "/zoo": self.index,
            "/zoo/": self.index,
            "/zoo/landed": faults.LANDED,
            "/zoo/links": self.links,
            "/zoo/frame": self.frame,
            "/retry-after": self.retry_after,
        }
        found = own.get(path) or EXACT.get(path)
        if found is None:
            found = next((handler for prefix, handler in PREFIXES.items() if path.startswith(prefix)), None)
        return found or text(f"Nothing lives at {path}.\n", status=404)

    def index(self, request: Request) -> Response:
        items = "".join(
            f'<li><a href="{path.replace("&", "&amp;")}">{path.replace("&", "&amp;")}</a></li>' for path in INDEX
        )
        return pages.page("The zoo", f"<p>Please do not feed the handlers.</p><ul>{items}</ul>")

    def retry_after(self, request: Request) -> Response:
        """`?seconds=&status=&key=`: refuses the first request for each key on each host; with `always`, every one.

        With `date` the header gives a moment (RFC 9110, section 10.2.3) instead of seconds.
        """
        key = (request.host_index, request.query("key"))
        with self._lock:
            refuse = "always" in request.target or key not in self._refused
            self._refused.add(key)
        if not refuse:
            return html("<!doctype html><title>Fine now</title><h1>Fine now</h1>")
        wait = request.query("seconds", "2")
        if "date" in request.target:
            wait = format_datetime(datetime.now(UTC) + timedelta(seconds=request.number("seconds", 2)), usegmt=True)
        return text("Not now.\n", status=request.number("status", 429), headers=(("Retry-After", wait),))

    def forget(self) -> None:
        """Nobody has been refused yet."""
        with self._lock:
            self._refused.clear()

    def links(self, request: Request) -> Response:
        """Every kind of link; see the page's source for which is which."""
        other = self._bases[(request.host_index + 1) % len(self._bases)]
        return pages.page(
            "Links",
            '<a href="/zoo/landed">plain</a> <a href="/zoo/landed">the same again</a> <a href="/zoo/landed#part">with a fragment</a> '
            '<a href="#here">a fragment alone</a> <a href="landed">relative</a> <a href="./landed?b=2&amp;a=1">with a query</a> '
            f'<a href="{other}/zoo/landed">another host</a> <a href="//{other.partition("//")[2]}/zoo/memory">no scheme</a> '
            '<a href="/zoo/post" rel="nofollow">nofollow</a> <a href="/zoo/lazy" rel="external NoFollow">nofollow in a list</a> '
            '<a href="mailto:keeper@light.example">mail</a> <a href="javascript:void(0)">script</a> <a href="tel:+81">phone</a> '
            '<a href="data:text/plain,hello">data</a> <a href="ftp://light.example/">ftp</a> <a href="http://[">broken</a> '
            '<a href="">empty</a> <a name="here">no address</a> <a href="/zoo/landed?q=%E7%8C%AB">encoded</a> '
            '<a href="/zoo/landed?q=灯台">not encoded</a> <map name="m"><area href="/zoo/banner" alt="area"></map>',
        )

    def frame(self, request: Request) -> Response:
        """Frames: one of this host, one of the next."""
        other = self._bases[(request.host_index + 1) % len(self._bases)]
        return pages.page(
            "Frames",
            f'<iframe src="/zoo/memory" width="400" height="200"></iframe>'
            f'<iframe src="{other}/zoo/landed" width="400" height="200"></iframe>',
        )
