"""The two pages of a replay: the list, and the frame that a page is shown in. Self-contained, light and dark."""

from html import escape

from comity.cli.replay.shelf import Item, Shelf

STYLE = """
:root{color-scheme:light dark;--ink:#1d2a30;--dim:#64757d;--paper:#fbfaf7;--line:#dcdfdc;--link:#0b5d73}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8e7;--dim:#93a3a8;--paper:#151a1c;--line:#2c3538;--link:#7cc5d8}}
*{box-sizing:border-box}
html,body{margin:0;height:100%;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
main{max-width:60rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:1.5rem;font-weight:600;margin:0}
.sub{color:var(--dim);margin:.25rem 0 2rem}
ol{list-style:none;margin:0;padding:0}
li{border-top:1px solid var(--line);padding:.7rem 0}li:last-child{border-bottom:1px solid var(--line)}
li .url,li .when{color:var(--dim);font-size:.85rem;overflow-wrap:anywhere}
li .when{float:right;margin-left:1rem;font-variant-numeric:tabular-nums}
li.not .name{color:var(--dim)}
body.view{display:flex;flex-direction:column}
header{display:flex;gap:1rem;align-items:baseline;padding:.45rem .9rem;border-bottom:1px solid var(--line);
font-size:.85rem}
header .name{flex:1;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}header .when{color:var(--dim)}
body.view{overflow:hidden}replay-web-page{flex:1;display:block;min-height:0;overflow:hidden}
"""


def list_page(shelf: Shelf, base: str) -> str:
    """All pages with links to their replay below the path `base`; those that have none say why."""
    shown = sum(1 for item in shelf.items if item.archive is not None)
    rows = "".join(_row(number, item, base) for number, item in enumerate(shelf.items))
    counted = f"{shown} of {len(shelf.items)} pages can be replayed" if shown < len(shelf.items) else _pages(shown)
    return _html(
        shelf.title,
        f'<body><main><h1>{escape(shelf.title)}</h1><p class="sub">{counted}. What you see comes from the archives on '
        f"this machine, not from the web.</p><ol>{rows}</ol></main></body>",
    )


def view_page(shelf: Shelf, number: int, base: str) -> str:
    """The replay of one page, with the way back to the list."""
    item = shelf.items[number]
    back = f'<a href="{base}/">All pages</a>' if len(shelf.items) > 1 else ""
    return _html(
        item.title or item.url,
        f'<body class="view"><header>{back}<span class="name">{escape(item.title or item.url)}</span>'
        f'<span class="when">{escape(f"captured {item.captured} UTC" if item.captured else "")}</span></header>'
        f'<replay-web-page source="{archive_path(item.archive, base)}" url="{escape(item.url)}" embed="default" '
        'replayBase="/replay/"></replay-web-page><script src="/ui.js"></script></body>',
    )


def archive_path(archive: int | None, base: str) -> str:
    """Where an archive is served."""
    return f"{base}/archives/{archive}.wacz"


def view_path(number: int, base: str) -> str:
    """Where the replay of an item is."""
    return f"{base}/view/{number}"


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"


def _row(number: int, item: Item, base: str) -> str:
    name = escape(item.title or item.url)
    under = f'<div class="url">{escape(item.note or (item.url if item.title else ""))}</div>'
    if item.archive is None:
        return f'<li class="not"><span class="name">{name}</span>{under}</li>'
    when = f'<span class="when">{escape(item.captured)}</span>'
    return f'<li>{when}<a class="name" href="{view_path(number, base)}">{name}</a>{under}</li>'


def _html(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>{body}</html>"
    )
