"""Which handler answers what on each host of the tree."""

import json
import re

from tests.site.pictures import PALETTES, emblem, landscape
from tests.site.tree.english import CLOUDS, LIGHTHOUSE, ORCHARD
from tests.site.tree.japanese import POST, STATIONS, TEA
from tests.site.tree.layout import FEED_BATCH, FEED_BATCHES, STYLE, page_html
from tests.site.tree.place import Place
from tests.site.wire import Handler, Request, Response, html, redirect, text

PLACES = (LIGHTHOUSE, TEA, CLOUDS, STATIONS, ORCHARD, POST)
PICTURE = re.compile(r"/pictures/([a-z]+)-(\d{1,3})-(\d{2,4})\.png")

SIGHTINGS = (
    "A teapot over the gasworks, pouring.",
    "Two herons and what may have been a bicycle.",
    "The number seven, reclining.",
    "My late uncle, facing west, in a hat.",
    "A whale, unhurried, going home by way of the church.",
    "Nothing at all for an hour, beautifully done.",
    "An anvil. We went in.",
    "A smaller cloud, waiting for a larger one.",
    "Scotland, more or less.",
    "A dragon (countersigned).",
    "Feathers, and later a pillow.",
    "A hand that waved, or so the children say.",
)


def place_of(host_index: int) -> Place:
    """More hosts than sites: they come round again."""
    return PLACES[host_index % len(PLACES)]


def tree_routes(host_index: int, bases: tuple[str, ...]) -> dict[str, Handler | Response]:
    """Exact paths of one host; `bases` are the origins of all hosts, in order."""
    place = place_of(host_index)
    ring = None
    if len(bases) > 1:
        before, following = (host_index - 1) % len(bases), (host_index + 1) % len(bases)
        ring = (
            (f"{bases[before]}/", place_of(before).name),
            (f"{bases[following]}/", place_of(following).name),
        )
    routes: dict[str, Handler | Response] = {page.path: html(page_html(place, page, ring=ring)) for page in place.pages}
    routes["/style.css"] = Response(
        body=STYLE.encode(), content_type="text/css; charset=utf-8", headers=(("Cache-Control", "max-age=600"),)
    )
    routes["/emblem.svg"] = Response(body=emblem(place.key), content_type="image/svg+xml")
    routes["/favicon.ico"] = redirect("/emblem.svg", status=301)
    if place.moved[0]:
        routes[place.moved[0]] = redirect(place.moved[1], status=301)
    if place.key == "clouds":
        routes["/sightings.json"] = sightings
    return routes


def picture(request: Request) -> Response:
    """`/pictures/{palette}-{variant}-{width}.png`, 16:9."""
    found = PICTURE.fullmatch(request.path)
    if not found or found[1] not in PALETTES or not 16 <= int(found[3]) <= 2000:
        return text("No such picture.\n", status=404)
    width = int(found[3])
    body = landscape(found[1], int(found[2]), width, width * 9 // 16)
    return Response(body=body, content_type="image/png", headers=(("Cache-Control", "max-age=600"),))


def sightings(request: Request) -> Response:
    """One batch of the feed as JSON: `{items: [{text, picture}], next: number|null}`."""
    page = request.number("page", 0)
    first = page * FEED_BATCH
    items = [
        {"text": line, "picture": f"/pictures/clouds-{first + offset + 20}-320.png"}
        for offset, line in enumerate(SIGHTINGS[first : first + FEED_BATCH])
    ]
    following = page + 1 if page + 1 < FEED_BATCHES else None
    body = json.dumps({"items": items, "next": following}).encode()
    return Response(body=body, content_type="application/json")
