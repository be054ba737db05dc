"""What commands ask of the ledger about extractors and extractions."""

import time
from collections.abc import Callable

from blocks.clients.errors import ConnectionLost, DeadlinePassed, ServiceRefused, ServiceUnreachable
from blocks.clients.ledger import LedgerClient
from comity.cli.errors import BadInput
from comity.cli.extractor_files import ExtractorFile
from comity.contract.extraction import ExtractionProgress, ExtractorView

POLL_S = 0.5
AWAY_BUDGET_S = 60.0
"""The supervisor starts a ledger that died again; longer than this it is not coming back."""
QUIET_BUDGET_S = 900.0
"""An extraction in which nothing moves for so long is not waited for. The ledger goes on with it."""


def add(ledger: LedgerClient, file: ExtractorFile) -> ExtractorView:
    """The version that has these files now. Raises BadInput for what the ledger refuses."""
    try:
        return ledger.add_extractor(file.extractor)
    except ServiceRefused as refusal:
        if refusal.status not in (400, 413):
            raise
        named = "; ".join(f"{one.field}: {one.message}" for one in refusal.fields)
        raise BadInput(f"{file.path}: {named or refusal.message}") from None


def wait(ledger: LedgerClient, crawl_id: str, show: Callable[[ExtractionProgress], None]) -> ExtractionProgress | None:
    """Until nothing of the crawl waits to be extracted, or nothing moves any more; how far it is then."""
    seen: ExtractionProgress | None = None
    moved_s = heard_s = time.monotonic()
    while True:
        try:
            progress = ledger.crawl(crawl_id).extraction
            heard_s = time.monotonic()
        except (ServiceUnreachable, ConnectionLost, DeadlinePassed):
            if time.monotonic() - heard_s > AWAY_BUDGET_S:
                raise
            time.sleep(POLL_S)
            continue
        if progress != seen:
            seen, moved_s = progress, time.monotonic()
        if progress is None or progress.state in ("idle", "stopped") or time.monotonic() - moved_s > QUIET_BUDGET_S:
            return progress
        show(progress)
        time.sleep(POLL_S)
