# ruff: noqa: E501 - markup, drawings and prose are not broken where a line of code would be.
"""Cages that are web pages: scripts, lazy and hidden pictures, redirects by the client, storage, dialogs, charsets."""

import json

from tests.site.wire import Request, Response, html

VARIANTS = {
    "img-src": "/pictures/orchard-1-320.png",
    "srcset-640": "/pictures/orchard-1-640.png",
    "srcset-1280": "/pictures/orchard-1-1280.png",
    "srcset-2x": "/pictures/orchard-2-640.png",
    "source": "/pictures/orchard-3-1280.png",
    "source-type": "/pictures/orchard-4-640.png",
    "data-src": "/pictures/orchard-5-320.png",
    "data-srcset": "/pictures/orchard-6-640.png",
    "data-background": "/pictures/orchard-7-320.png",
    "poster": "/pictures/orchard-8-320.png",
    "style-media": "/pictures/orchard-9-640.png",
    "style-unused": "/pictures/orchard-10-640.png",
    "inline-style": "/pictures/orchard-11-320.png",
    "sheet-media": "/pictures/orchard-12-640.png",
    "noscript": "/pictures/orchard-13-320.png",
}
"""Where a picture of `/zoo/variants` hides, and its path. Only `ASKED_WITHOUT_SCRIPT` are fetched by a plain load."""

ASKED_WITHOUT_SCRIPT = frozenset({"img-src", "poster", "inline-style"})
LAZY = tuple(f"/pictures/clouds-{number}-320.png" for number in range(60, 72))
FEED_PAGES = 6
FEED_ITEMS = 5


def page(title: str, body: str, head: str = "", *, lang: str = "en") -> Response:
    return html(
        f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<link rel="stylesheet" href="/style.css">{head}</head>\n<body><main><h1>{title}</h1>\n{body}\n</main></body></html>\n'
    )


def variants(request: Request) -> Response:
    v = VARIANTS
    return page(
        "Variants",
        # The width is pinned, so that every browser picks the same candidate at a device pixel ratio of 1.
        f'<img src="{v["img-src"]}" srcset="{v["img-src"]} 320w, {v["srcset-640"]} 640w, {v["srcset-1280"]} 1280w" '
        f'sizes="300px" width="300" height="169" alt="">'
        f'<img src="{v["img-src"]}" srcset="{v["img-src"]} 1x, {v["srcset-2x"]} 2x" width="320" height="180" alt="">'
        f'<picture><source media="(min-width: 9000px)" srcset="{v["source"]}">'
        f'<source type="image/x-unheard-of" srcset="{v["source-type"]}">'
        f'<img src="{v["img-src"]}" width="320" height="180" alt=""></picture>'
        f'<img data-src="{v["data-src"]}" data-srcset="{v["data-srcset"]} 2x" alt="">'
        f'<div data-background="{v["data-background"]}" style="background: url({v["inline-style"]}); height: 90px"></div>'
        f'<video poster="{v["poster"]}" preload="none" width="320" height="180"></video>'
        f'<noscript><img src="{v["noscript"]}" alt=""></noscript>',
        f"<style>@media (min-width: 9000px) {{ main {{ background: url({v['style-media']}) }} }}\n"
        f".never-there {{ background-image: url('{v['style-unused']}') }}</style>"
        '<link rel="stylesheet" href="/zoo/variants.css">',
    )


def variants_css(request: Request) -> Response:
    body = f'@media print {{ body {{ background: url("{VARIANTS["sheet-media"]}") }} }}\n'
    return Response(body=body.encode(), content_type="text/css")


def lazy(request: Request) -> Response:
    rows = "".join(
        f'<div style="height: 1500px"></div><img loading="lazy" src="{path}" width="320" height="180" alt="">'
        for path in LAZY
    )
    return page("Lazy pictures", f'<p>Far down.</p><div style="height: 6000px"></div>{rows}')


FEED_SCRIPT = """<script>
let next = 0, busy = false;
async function more() {
  if (busy || next === null) return;
  busy = true;
  const batch = await (await fetch('/zoo/feed.json?page=' + next)).json();
  for (const item of batch.items) {
    const box = document.createElement('article');
    box.style.minHeight = '400px';
    box.innerHTML = `<h2>${item.title}</h2><img src="${item.picture}" width="320" height="180" alt="">`;
    document.querySelector('#feed').append(box);
  }
  document.title = 'Feed (' + document.querySelectorAll('article').length + ')';
  next = batch.next; busy = false;
}
const near = () => innerHeight + scrollY > document.body.scrollHeight - 300;
addEventListener('scroll', () => { if (near()) more(); }, { passive: true });
more();
</script>"""


def feed(request: Request) -> Response:
    """`?endless`: never runs out; otherwise after `FEED_PAGES` batches."""
    script = FEED_SCRIPT.replace("?page=", "?endless&page=") if "endless" in request.target else FEED_SCRIPT
    return page("Feed", f'<div id="feed"></div>{script}')


def feed_json(request: Request) -> Response:
    number = request.number("page", 0)
    first = number * FEED_ITEMS
    items = [
        {"title": f"Item {at + 1}", "picture": f"/pictures/post-{100 + at % 100}-320.png?item={at + 1}"}
        for at in range(first, first + FEED_ITEMS)
    ]
    more = number + 1 < FEED_PAGES or "endless" in request.target
    body = json.dumps({"items": items, "next": number + 1 if more else None})
    return Response(body=body.encode(), content_type="application/json")


def client_redirect(request: Request) -> Response:
    """`/zoo/redirect/meta|location|replace|late`, `?to=`."""
    to = request.query("to", "/zoo/landed")
    kind = request.path.rpartition("/")[2]
    if kind == "meta":
        return page("Meta refresh", "<p>One moment.</p>", f'<meta http-equiv="refresh" content="0; url={to}">')
    script = {
        "location": f"location.href = {json.dumps(to)}",
        "replace": f"location.replace({json.dumps(to)})",
        "late": f"addEventListener('load', () => setTimeout(() => {{ location.href = {json.dumps(to)} }}, 300))",
    }.get(kind, "")
    return page("Script redirect", f"<p>One moment.</p><script>{script}</script>")


def block(request: Request) -> Response:
    """`?ms=`: the main thread is busy that long once the page has loaded."""
    busy_ms = request.number("ms", 1000)
    return page(
        "Busy",
        f"<p>Busy for {busy_ms} ms.</p><script>addEventListener('load', () => {{ const end = performance.now() + {busy_ms};"
        " while (performance.now() < end); document.title = 'Busy no more'; })</script>",
    )


MEMORY_SCRIPT = """<script>
const seen = [];
if (localStorage.getItem('been')) seen.push('localStorage');
if (sessionStorage.getItem('been')) seen.push('sessionStorage');
if (document.cookie.includes('script=been')) seen.push('cookie');
localStorage.setItem('been', '1'); sessionStorage.setItem('been', '1'); document.cookie = 'script=been; path=/';
document.querySelector('#seen').textContent = seen.join(' ') || 'nothing';
document.title = seen.length ? 'Welcome back' : 'First visit';
</script>"""


def memory(request: Request) -> Response:
    """Says whether it was visited before: `#server` by its own cookie, `#seen` by what the browser stores."""
    known = request.cookies.get("zoo") == "been"
    body = (
        f'<p>Server: <b id="server">{"known" if known else "new"}</b>. Browser: <b id="seen"></b>.</p>{MEMORY_SCRIPT}'
    )
    return page("Memory", body).with_headers(
        ("Set-Cookie", "zoo=been; Path=/; HttpOnly"), ("Cache-Control", "no-store")
    )


RESTLESS = {
    "dom": "setInterval(() => { const p = document.createElement('p'); p.textContent = performance.now(); "
    "document.querySelector('main').append(p); if (document.querySelectorAll('p').length > 50) document.querySelector('p').remove(); }, 50)",
    "network": "setInterval(() => fetch('/echo?at=' + performance.now()), 100)",
    "hanging": "fetch('/stall/silent')",
    "error": "setTimeout(() => { throw new Error('a page of its own making') }, 0); Promise.reject(new Error('unheard'))",
}


def restless(request: Request) -> Response:
    """`/zoo/restless/dom|network|hanging|error`: pages that never come to rest, or fail on their own."""
    kind = request.path.rpartition("/")[2]
    return page(f"Restless: {kind}", f"<p>Still here.</p><script>{RESTLESS.get(kind, '')}</script>")


DIALOGS = {
    "alert": "alert('Mind the step')",
    "confirm": "document.title = confirm('Really?') ? 'Yes' : 'No'",
    "prompt": "document.title = 'Answer: ' + prompt('Name?', 'keeper')",
    "unload": "addEventListener('beforeunload', event => { event.preventDefault(); event.returnValue = 'stay'; })",
    "popup": "window.open('/zoo/landed'); document.title = 'Opened'",
    "print": "print(); document.title = 'Printed'",
}


def dialog(request: Request) -> Response:
    """`/zoo/dialog/alert|confirm|prompt|unload|popup|print`."""
    kind = request.path.rpartition("/")[2]
    return page(f"Dialog: {kind}", f"<p>After the {kind}.</p><script>{DIALOGS.get(kind, '')}</script>")


POST_SCRIPT = """<script>
fetch('/echo', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ tide: 'ebb' }) })
  .then(answer => answer.text()).then(text => { document.querySelector('#answer').textContent = text; document.title = 'Posted'; });
</script>"""


def post(request: Request) -> Response:
    return page("Post", f'<p id="answer">…</p>{POST_SCRIPT}')


def downloads(request: Request) -> Response:
    auto = "<script>document.querySelector('#auto').click()</script>" if "auto" in request.target else ""
    return page(
        "Downloads",
        '<p><a href="/download/orchard.csv">As an attachment</a></p>'
        '<p><a id="auto" href="/large?bytes=2000" download="two-thousand.bin">By the page\'s wish</a></p>' + auto,
    )


def banner(request: Request) -> Response:
    """A consent banner over the whole page; `#accept` takes it away."""
    return page(
        "Behind a banner",
        "<p>The text that people came for.</p>",
        "<style>#cookie-consent { position: fixed; inset: auto 0 0; height: 60vh; background: #fffd; z-index: 99999 }</style>"
        '<script>addEventListener("DOMContentLoaded", () => document.body.insertAdjacentHTML("beforeend", '
        '`<div id="cookie-consent" role="dialog" aria-label="Cookie consent"><p>We value cookies.</p>'
        '<button id="accept" onclick="this.parentElement.remove(); document.title = \'Accepted\'">Accept all</button></div>`))</script>',
    )


ROBOTS_META = {
    "meta": '<meta name="Robots" content="index, NoFollow">',
    "meta-none": '<meta name="robots" content="none">',
    "meta-ours": '<meta name="comity" content="nofollow">',
    "meta-other": '<meta name="otherbot" content="nofollow">',
    "meta-follow": '<meta name="robots" content="noindex, follow">',
    "meta-by-script": "<script>document.head.append(Object.assign(document.createElement('meta'), "
    "{ name: 'robots', content: 'nofollow' }))</script>",
}
ROBOTS_HEADERS = {
    "header": ("noindex, nofollow",),
    "header-ours": ("Comity: nofollow",),
    "header-other": ("otherbot: nofollow",),
    "header-second": ("max-snippet: 5", "unavailable_after: 25 Jun 2050 15:00:00 GMT, nofollow"),
}


def robots_says(request: Request) -> Response:
    """`/zoo/robots/…`: a page with one link, and what `ROBOTS_META` and `ROBOTS_HEADERS` tell robots of it."""
    kind = request.path.rpartition("/")[2]
    headers = tuple(("X-Robots-Tag", value) for value in ROBOTS_HEADERS.get(kind, ()))
    return page(f"Robots: {kind}", '<a href="/zoo/landed">A link</a>', ROBOTS_META.get(kind, "")).with_headers(*headers)


TEXTS = {
    "shift_jis": "灯台の手帖、潮の香り。",
    "euc_jp": "無人駅の待合室。",
    "iso2022_jp": "深海の郵便局。",
    "utf-16": "雲の美術館。",
}
LABELS = {"shift_jis": "Shift_JIS", "euc_jp": "EUC-JP", "iso2022_jp": "ISO-2022-JP", "utf-16": "UTF-16"}


def charset(request: Request) -> Response:
    """`/zoo/charset/shift_jis|euc_jp|iso2022_jp|utf-16`; declared in the header, with `?meta` in the page alone."""
    name = request.path.rpartition("/")[2]
    if name not in TEXTS:
        return html("<!doctype html><title>Unknown charset</title>", status=404)
    meta = f'<meta charset="{LABELS[name]}">' if "meta" in request.target else ""
    body = f'<!doctype html><html lang="ja">{meta}<title>{TEXTS[name]}</title><h1>{TEXTS[name]}</h1><p>表示の能力を試す。</p>'
    declared = "text/html" if meta else f"text/html; charset={LABELS[name]}"
    return Response(body=body.encode(name), content_type=declared)


def broken_parts(request: Request) -> Response:
    return page(
        "Broken parts",
        '<p>The page is whole, its parts are not.</p><img src="/status/404" alt=""><img src="/drop" alt="">'
        '<img src="/cut?bytes=10" alt=""><img src="/status/500" alt=""><script src="/gzip/broken"></script>',
    )
