"""The links of a captured page, as its level will follow them."""

from comity.contract.ledger import CrawlPolicy
from ledger import log
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.place import Elsewhere, NotRead
from ledger.rules.frontier import followable
from ledger.rules.outcome import Settled


def read_links(
    artifacts: Artifacts, settled: Settled, policy: CrawlPolicy, *, crawl_id: str, page_id: str
) -> list[str] | None:
    """Followable links. A page whose links cannot be read leads nowhere, and the log says so."""
    if settled.links_location is None:
        why = "no links were reported"
    else:
        try:
            found = artifacts.links(settled.links_location)
            robots = found.robots if policy.respect_robots else ()
            return followable(found.links, settled.final_url or found.final_url, robots)
        except Elsewhere:
            why = "the links lie outside LEDGER_ARTIFACT_ROOT and our bucket"
        except NotRead as error:
            why = str(error)
    log.warning("links_not_read", crawl_id=crawl_id, page_id=page_id, why=why)
    return None
