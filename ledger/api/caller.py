"""Routes about the service itself and about its caller."""

from importlib.metadata import version

from fastapi import APIRouter, Response

from comity.contract.identity import Me
from comity.contract.ledger import LedgerHealth, LedgerReadiness
from ledger import metrics, watch_metrics
from ledger.api.parts_of import Caller, Ledger

router = APIRouter()


@router.get("/healthz")
def healthz(ledger: Ledger) -> LedgerHealth:
    """200 while the database answers."""
    ledger.store.ping()
    return LedgerHealth(ok=True, version=version("comity"))


@router.get("/readyz", responses={503: {"model": LedgerReadiness}})
async def readyz(ledger: Ledger, response: Response) -> LedgerReadiness:
    """200 while reports can be taken, 503 otherwise; both name every part."""
    found = await ledger.readiness.look()
    if not found.ready:
        response.status_code = 503
    return found


@router.get("/metrics", response_class=Response)
def metrics_page(ledger: Ledger) -> Response:
    """Counts for Prometheus."""
    watch_metrics.show(ledger.watching.looks.figures())
    page = metrics.text(
        crawls=ledger.looks.crawls_by_state(),
        free_bytes=ledger.space.free_bytes(),
        unwritable=ledger.store.outage is not None and ledger.store.outage.until is None,
    )
    return Response(page, media_type=metrics.CONTENT_TYPE)


@router.get("/api/me")
def me(caller: Caller) -> Me:
    """Who the token says the caller is."""
    return Me(subject=caller.subject, organizations=list(caller.organizations), can_submit=caller.can_submit)
