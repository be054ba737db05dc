"""Crawls under way whose runs died: no link is broken, yet somebody who asks for the doctor will want to know."""

from blocks.clients.errors import ServiceError
from blocks.load import ComityBlocks
from comity.cli.attempts import now_tried_again
from flows.doctor_links import Link


def look_at_crawls(blocks: ComityBlocks) -> list[Link]:
    """One line for each running crawl whose level is tried again; none where the ledger does not tell."""
    try:
        with blocks.ledger.trigger_client() as ledger:
            crawls = ledger.crawls().crawls
    except (ServiceError, ValueError):
        return []  # its own link says what is wrong
    return [Link(f"crawl {crawl.id}", True, said) for crawl in crawls if (said := now_tried_again(crawl))]
