"""One refusal, one status: the only place that says which."""

from typing import Any

from starlette.responses import JSONResponse

from comity.contract.hosts import HostLeased
from comity.contract.ledger import CrawlInTheWay, ExtractorRejected, MissingOutcomes
from comity.contract.ledger import LedgerError as Body
from ledger import errors

STATUS: dict[type[errors.LedgerRefusal], int] = {
    errors.BadInput: 400,
    errors.ExtractorWrong: 400,
    errors.Unauthenticated: 401,
    errors.Unknown: 404,
    errors.NoFeedHere: 404,
    errors.NoSuchPath: 404,
    errors.NoSuchMethod: 405,
    errors.WrongState: 409,
    errors.CrawlRuns: 409,
    errors.SlotsTaken: 409,
    errors.NoEnabledTarget: 409,
    errors.NameTaken: 409,
    errors.NoSpace: 409,
    errors.OutcomesMissing: 409,
    errors.StaleRun: 409,
    errors.HostTaken: 409,
    errors.TooSlow: 408,
    errors.TooLarge: 413,
    errors.Foreign: 421,
    errors.KeyReused: 422,
    errors.Lacking: 501,
    errors.StreamsFull: 503,
    errors.ContentsAway: 503,
    errors.StoreAway: 503,
    errors.ArtifactsAway: 503,
    errors.StoreBusy: 503,
    errors.IssuerAway: 503,
    errors.StoreFull: 503,
    errors.SinkFull: 507,
}


ISSUER_AWAY_S = 30
"""The issuer is not asked again sooner."""


def answer(refusal: errors.LedgerRefusal) -> JSONResponse:
    """The refusal as its caller sees it."""
    status = STATUS[type(refusal)]
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="ledger"'
    if status == 503:
        headers["Retry-After"] = str(ISSUER_AWAY_S if isinstance(refusal, errors.IssuerAway) else 1)
    return JSONResponse(_body(refusal), status, headers)


def plain(status: int, error: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """A refusal that is the framework's own: no such path, no such method."""
    return JSONResponse(Body(error=error).to_wire(), status, headers)


def _body(refusal: errors.LedgerRefusal) -> dict[str, Any]:
    match refusal:
        case errors.ExtractorWrong(fields=fields, diagnostics=diagnostics):
            return ExtractorRejected(error=str(refusal), fields=fields, diagnostics=diagnostics).to_wire()
        case errors.BadInput(fields=fields):
            return Body(error=str(refusal), fields=fields).to_wire()
        case errors.CrawlRuns(crawl_id=crawl_id, started_at=started_at):
            return CrawlInTheWay(error=str(refusal), crawl_id=crawl_id, started_at=started_at).to_wire()
        case errors.OutcomesMissing(missing=missing):
            return MissingOutcomes(error=str(refusal), missing=missing).to_wire()
        case errors.HostTaken(code=code, retry_after_ms=retry_after_ms, stop=stop):
            return HostLeased(error=str(refusal), code=code or "", retry_after_ms=retry_after_ms, stop=stop).to_wire()
        case _:
            return Body(error=str(refusal), code=refusal.code).to_wire()
