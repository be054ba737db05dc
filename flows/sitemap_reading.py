"""Reading one sitemap, until done or told to stop."""

import asyncio
import os

from comity.polite.egress import Egress, rules_of
from comity.polite.rules.proxies import proxies_of
from comity.polite.rules.sitemaps import SitemapFetch
from comity.polite.sitemaps import fetch_sitemap
from comity.polite.trust import trust_of
from flows.stop import StopSignal

_LOOK_S = 0.2


def read_sitemap(url: str, stop: StopSignal) -> SitemapFetch:
    """What became of asking for it; a host that does not answer is a value too. Raises Stopped."""
    return asyncio.run(_read(url, stop))


async def _read(url: str, stop: StopSignal) -> SitemapFetch:
    reading = asyncio.create_task(
        fetch_sitemap(
            url,
            egress=Egress(rules_of(os.environ)),
            trust=trust_of(os.environ),
            proxies=proxies_of(os.environ),
        )
    )
    try:
        while not reading.done():
            stop.check()
            await asyncio.wait({reading}, timeout=_LOOK_S)
        return reading.result()
    finally:
        reading.cancel()
