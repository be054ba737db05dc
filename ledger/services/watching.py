"""The parts of watching, put together."""

import secrets
from dataclasses import dataclass

from ledger.artifacts.artifacts import Artifacts
from ledger.clock import Clock
from ledger.services.watch_claim import ClaimService
from ledger.services.watch_complete import CompleteService
from ledger.services.watch_contents import WatchContents
from ledger.services.watch_lists import WatchListService
from ledger.services.watch_look import WatchLookService
from ledger.services.watch_moving import MovingService
from ledger.services.watch_pages import WatchPageService
from ledger.services.watch_prices import PriceService
from ledger.services.watch_terms import WatchTerms
from ledger.services.watch_tidy import TidyService
from ledger.store.database import Store

_random = secrets.SystemRandom()


@dataclass(frozen=True)
class Watching:
    """What routes of watching ask."""

    pages: WatchPageService
    lists: WatchListService
    looks: WatchLookService
    claims: ClaimService
    completions: CompleteService
    tidy: TidyService
    moving: MovingService
    prices: PriceService


def watching(store: Store, artifacts: Artifacts, clock: Clock, terms: WatchTerms) -> Watching:
    """Connect everything."""
    contents = WatchContents(artifacts)
    pages = WatchPageService(store, contents, clock, terms)
    prices = PriceService(store, clock, terms)
    return Watching(
        pages=pages,
        moving=MovingService(store, pages, contents, clock, terms),
        lists=WatchListService(store, clock),
        looks=WatchLookService(store, contents, clock),
        claims=ClaimService(store, clock, terms),
        completions=CompleteService(store, contents, clock, terms=terms, spread=_random.random, prices=prices.now),
        prices=prices,
        tidy=TidyService(store, clock, terms),
    )
