"""Asking every host of a level for its robots.txt, until done or told to stop."""

import asyncio
import os
from collections.abc import Sequence

from comity.contract.ledger import FrontierPage
from comity.polite.egress import Egress, rules_of
from comity.polite.errors import NotAWebUrlError
from comity.polite.robots import fetch_all
from comity.polite.rules.proxies import proxies_of
from comity.polite.rules.robots import RobotsFetch, RobotsRuling, judge, origin_of
from comity.polite.trust import trust_of
from flows.rules.sitemaps import WELL_KNOWN
from flows.stop import StopSignal

CONCURRENCY = 16
_LOOK_S = 0.2


def robots_rulings(
    frontier: Sequence[FrontierPage], stop: StopSignal, *, sitemaps: bool = False
) -> tuple[RobotsRuling, ...]:
    """One ruling for each origin of the frontier. A host that does not answer is a ruling too. Raises Stopped.

    With `sitemaps` each ruling also judges the well-known place of its origin's sitemap.
    """
    urls: dict[str, list[str]] = {}
    for page in frontier:
        try:
            urls.setdefault(origin_of(page.url), []).append(page.url)
        except NotAWebUrlError:
            continue  # nobody's robots.txt speaks for it; the capture server will refuse it by name
    if not urls:
        return ()
    fetched = asyncio.run(_fetch(list(urls), stop))
    if sitemaps:
        for origin, of_origin in urls.items():
            of_origin.append(origin + WELL_KNOWN)
    return tuple(judge(fetched[origin], of_origin) for origin, of_origin in urls.items())


async def _fetch(origins: list[str], stop: StopSignal) -> dict[str, RobotsFetch]:
    fetching = asyncio.create_task(
        fetch_all(
            origins,
            concurrency=CONCURRENCY,
            egress=Egress(rules_of(os.environ)),
            trust=trust_of(os.environ),
            proxies=proxies_of(os.environ),
        )
    )
    try:
        while not fetching.done():
            stop.check()
            await asyncio.wait({fetching}, timeout=_LOOK_S)
        return fetching.result()
    finally:
        fetching.cancel()
