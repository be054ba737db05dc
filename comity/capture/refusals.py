"""Every refusal: one kind, one status, one sentence; never a stack trace."""

import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from comity.capture.admission import refusal_json
from comity.capture.errors import RequestRefusedError
from comity.capture.metrics import Metrics
from comity.contract.capture import FieldProblem, Refusal

log = logging.getLogger(__name__)

KINDS = {401: "UnauthorizedException", 404: "ResourceNotFound", 405: "MethodNotAllowed", 413: "PayloadTooLarge"}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": text}
    for status, text in {
        400: "ValidationException: `fieldList` names each field",
        401: "UnauthorizedException: no or wrong bearer token",
        413: "PayloadTooLarge",
        429: "Busy: another capture is under way; ask another server or later",
        500: "InternalFailure",
    }.items()
}


def refusal(status: int, kind: str, message: str, problems: list[FieldProblem] | None = None) -> Response:
    """Kind, message, and the fields where there are any."""
    headers, body = refusal_json(kind, message, problems)
    return Response(body, status_code=status, headers=headers)


def add_refusals(app: FastAPI, metrics: Metrics) -> None:
    """Maps each error to its answer."""

    @app.exception_handler(RequestRefusedError)
    async def refused(_: Request, error: RequestRefusedError) -> Response:
        metrics.count_refusal(400)
        return refusal(400, "ValidationException", f"the request is refused: {error}", error.problems)

    @app.exception_handler(HTTPException)
    async def spoken(_: Request, error: HTTPException) -> Response:
        metrics.count_refusal(error.status_code)
        return refusal(error.status_code, KINDS.get(error.status_code, "RequestRefused"), str(error.detail))

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:
        metrics.count_refusal(500)
        log.error("a fault of this server", exc_info=error)
        return refusal(500, "InternalFailure", "a fault of the capture server; its log says more")
