# ruff: noqa: E501 - markup, drawings and prose are not broken where a line of code would be.
"""The tree's pages as HTML: one layout, one stylesheet, one set of words per language."""

from collections.abc import Callable
from html import escape

from tests.site.tree.place import Page, Place

WIDTHS = (320, 640, 1280)
FEED_BATCHES = 4
FEED_BATCH = 3

WORDS = {
    "en": {"onward": "Read on", "ring": "The Courteous Ring", "before": "before us", "next": "after us", "home": "Home",
           "gallery": "From the album", "visits": "Your visits so far", "moved": "the old address still works"},
    "ja": {"onward": "つづきを読む", "ring": "まごころの輪", "before": "ひとつ前", "next": "ひとつ次", "home": "表紙",
           "gallery": "写真帖より", "visits": "ご来訪の回数", "moved": "以前の住所からもどうぞ"},
}  # fmt: skip

STYLE = """
:root { --accent: #345; --paper: #fff; --ink: #23262b; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.7 Georgia, "Noto Serif", "Hiragino Mincho ProN", "Noto Serif CJK JP", serif; }
header, main, footer { max-width: 46rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; gap: 1rem; align-items: center; padding-top: 1.5rem; padding-bottom: 1rem; }
header img { width: 64px; height: 64px; }
header a { color: var(--accent); text-decoration: none; font-size: 1.35rem; font-weight: 700; }
header p { margin: 0; opacity: .7; font-size: .9rem; font-style: italic; }
:lang(ja) header p { font-style: normal; }
h1 { font-size: 2rem; line-height: 1.25; margin: 1.4rem 0 .4rem; color: var(--accent); }
.hero { display: block; width: 100%; height: auto; border-radius: 14px; box-shadow: 0 6px 24px #0003; }
.lede { font-size: 1.15rem; border-left: 4px solid var(--accent); padding-left: 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1rem; margin: 2rem 0; padding: 0; list-style: none; }
.cards a { display: block; height: 100%; padding: 1rem 1.1rem; border-radius: 12px; background: #fff; color: inherit;
  text-decoration: none; box-shadow: 0 2px 10px #0001; border-top: 4px solid var(--accent); }
.cards b { color: var(--accent); display: block; }
.cards small { opacity: .75; }
.album { display: grid; grid-template-columns: 1fr 1fr; gap: .8rem; }
.album img, .album video, .sighting img { width: 100%; height: auto; border-radius: 10px; display: block; }
.tall { height: 2600px; margin: 2rem 0; border-radius: 14px; opacity: .35;
  background: repeating-linear-gradient(var(--paper), var(--accent) 1300px, var(--paper) 2600px); }
.sighting { display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; align-items: center; margin: 1rem 0; min-height: 90px; }
footer { margin-top: 3rem; padding-top: 1rem; padding-bottom: 2.5rem; border-top: 1px solid #0002; font-size: .9rem; }
footer a, main p a { color: var(--accent); }
"""

FEED_SCRIPT = """
const feed = document.querySelector('#feed'), end = document.querySelector('#feed-end');
let next = 0, busy = false;
async function more() {
  if (busy || next === null) return;
  busy = true;
  const batch = await (await fetch('/sightings.json?page=' + next)).json();
  for (const item of batch.items) {
    const row = document.createElement('div'), img = new Image(), p = document.createElement('p');
    row.className = 'sighting'; img.src = item.picture; img.alt = ''; img.width = 320; img.height = 180; p.textContent = item.text;
    row.append(img, p); feed.append(row);
  }
  next = batch.next; busy = false;
}
new IntersectionObserver(seen => { if (seen.some(one => one.isIntersecting)) more(); }).observe(end);
addEventListener('scroll', () => { if (end.getBoundingClientRect().top < innerHeight + 200) more(); }, { passive: true });
"""

GUESTBOOK_SCRIPT = """
const count = 1 + Number(localStorage.getItem('visits') || 0);
localStorage.setItem('visits', count);
document.querySelector('#visits').textContent = count;
"""


def picture_path(place: Place, variant: int, width: int) -> str:
    return f"/pictures/{place.key}-{variant}-{width}.png"


def responsive(place: Place, variant: int, css: str, *, lazy: bool = False) -> str:
    candidates = ", ".join(f"{picture_path(place, variant, width)} {width}w" for width in WIDTHS)
    return (
        f'<img class="{css}" src="{picture_path(place, variant, 640)}" srcset="{candidates}" '
        f'sizes="(max-width: 46rem) 100vw, 640px" width="640" height="360" alt=""{" loading=lazy" if lazy else ""}>'
    )


def album(place: Place, variant: int) -> str:
    """Shown pictures, ones that only a script asks for, and lazy ones below a long fold."""
    at = variant + 40
    return (
        f'<h2>{WORDS[place.lang]["gallery"]}</h2><div class="album">'
        f"{responsive(place, at, '')}"
        f'<picture><source media="(min-width: 3000px)" srcset="{picture_path(place, at + 1, 1280)}">'
        f'<img src="{picture_path(place, at + 1, 320)}" width="320" height="180" alt=""></picture>'
        f'<img src="/emblem.svg" data-src="{picture_path(place, at + 2, 320)}" width="320" height="180" alt="">'
        f'<video poster="{picture_path(place, at + 3, 320)}" width="320" height="180" preload="none"></video></div>'
        f'<div class="tall"></div><div class="album">'
        f"{responsive(place, at + 4, '', lazy=True)}{responsive(place, at + 5, '', lazy=True)}</div>"
    )


EXTRAS: dict[str, Callable[[Place, int], str]] = {
    "": lambda place, variant: "",
    "gallery": album,
    "feed": lambda place, variant: f'<div id="feed"></div><p id="feed-end">…</p><script>{FEED_SCRIPT}</script>',
    "guestbook": lambda place, variant: (
        f'<p>{WORDS[place.lang]["visits"]}: <b id="visits">0</b></p><script>{GUESTBOOK_SCRIPT}</script>'
    ),
}


def page_html(place: Place, page: Page, *, ring: tuple[tuple[str, str], tuple[str, str]] | None) -> str:
    """The page; `ring` is (URL, name) of the site before and after on the ring, None where there is one host only."""
    words = WORDS[place.lang]
    variant = [one.path for one in place.pages].index(page.path)
    titles = {one.path: one for one in place.pages}
    cards = "".join(
        f'<li><a href="{path}"><b>{escape(titles[path].title)}</b><small>{escape(titles[path].lede)}</small></a></li>'
        for path in page.links
    )
    onward = f'<h2>{words["onward"]}</h2><ul class="cards">{cards}</ul>' if cards else ""
    old = f' · <a href="{place.moved[0]}">{words["moved"]}</a>' if place.moved[0] and page.path == "/" else ""
    if page.path == place.dangling_on:
        old += f' · <a href="{place.dangling}">yesterday</a>'
    neighbours = ""
    if ring:
        (before_url, before_name), (next_url, next_name) = ring
        neighbours = (
            f'{words["ring"]}: {words["before"]} <a href="{before_url}">{escape(before_name)}</a> · '
            f'{words["next"]} <a href="{next_url}">{escape(next_name)}</a>'
        )
    return (
        f'<!doctype html>\n<html lang="{place.lang}"><head><meta charset="utf-8"><title>{escape(page.title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="description" content="{escape(page.lede)}">'
        f'<link rel="icon" href="/emblem.svg"><link rel="stylesheet" href="/style.css">'
        f"<style>:root {{ --accent: {place.accent}; --paper: {place.paper} }}</style></head>\n"
        f'<body><header><img src="/emblem.svg" alt=""><div><a href="/">{escape(place.name)}</a>'
        f"<p>{escape(place.motto)}</p></div></header>\n<main>{responsive(place, variant, 'hero')}"
        f'<h1>{escape(page.title)}</h1><p class="lede">{escape(page.lede)}</p>'
        f"{''.join(f'<p>{escape(one)}</p>' for one in page.paragraphs)}{EXTRAS[page.extra](place, variant)}"
        f"{onward}</main>\n"
        f'<footer><a href="/">{words["home"]}</a>{old}<br>{neighbours}</footer></body></html>\n'
    )
