"""The compiler's HTTP face: two calls, and every refusal with its kind in `x-amzn-errortype`."""

import asyncio
import hmac
import json
import logging
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from comity.contract.compiler import CompilerHealth
from comity.contract.scripts import sha256_of
from comity.tscompile.compiler import Compiler
from comity.tscompile.errors import CompilerBroken, ForeignOrigin, Invalid, Refused, Unauthorized
from comity.tscompile.requests import Asked, read_request
from comity.tscompile.settings import Settings

log = logging.getLogger(__name__)

BODY_BUDGET_S = 15
"""A caller that has not sent its request by then is not going to."""


def create_app(settings: Settings, compiler: Compiler) -> Starlette:
    """The application over a started compiler."""

    async def compile_scripts(request: Request) -> Response:
        _admit(request, settings)
        asked = read_request(await _body(request, settings.max_body_bytes))
        result = await compiler.compile(asked.sources)
        return _json(200, _answer(compiler, asked, result.javascript, cached=result.cached))

    async def healthz(_: Request) -> Response:
        health = CompilerHealth(ok=True, typescript=compiler.typescript, host_types=compiler.host_types)
        return _json(200, health.to_wire())

    return Starlette(
        routes=[
            Route("/compile", compile_scripts, methods=["POST"]),
            Route("/healthz", healthz, methods=["GET"]),
        ],
        exception_handlers={Refused: _refused, HTTPException: _no_such_call, Exception: _fault},
    )


def _answer(compiler: Compiler, asked: Asked, javascript: tuple[str, ...], *, cached: bool) -> dict[str, Any]:
    scripts = [
        sent | {"source": source, "sha256": sha256_of(source)}
        for sent, source in zip(asked.as_sent, javascript, strict=True)
    ]
    return {
        "typescript": compiler.typescript,
        "hostTypes": compiler.host_types,
        "cached": cached,
        "scripts": scripts,
    }


def _admit(request: Request, settings: Settings) -> None:
    if "origin" in request.headers:
        raise ForeignOrigin("this service answers programs, not web pages: leave the Origin header out")
    token = settings.token.get_secret_value()
    if token:
        expected, given = f"Bearer {token}".encode(), request.headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(expected, given):
            raise Unauthorized("send `Authorization: Bearer <token>` with the token of TSCOMPILE_TOKEN")


async def _body(request: Request, max_bytes: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_BUDGET_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > max_bytes:
                    raise Invalid.at("", f"larger than {max_bytes} bytes (TSCOMPILE_MAX_BODY_BYTES)")
    except TimeoutError:
        raise Invalid.at("", f"did not arrive within {BODY_BUDGET_S} s") from None
    return bytes(body)


def _json(status: int, data: Any, headers: dict[str, str] | None = None) -> Response:
    # ASCII with escapes: options may hold lone surrogates, which JSON can carry and UTF-8 cannot.
    return Response(json.dumps(data), status, headers, media_type="application/json")


def _refused(_: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refused)
    if isinstance(refusal, CompilerBroken):
        log.error("check failed: %s", refusal.message)
    headers = {"x-amzn-errortype": refusal.kind}
    if isinstance(refusal, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    return _json(refusal.status, refusal.body(), headers)


def _no_such_call(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: "UnknownOperation", 405: "MethodNotAllowed"}.get(error.status_code, "ValidationException")
    message = f"no {request.method} {request.url.path} here: there are POST /compile and GET /healthz"
    return _json(error.status_code, {"message": message}, {"x-amzn-errortype": kind, **(error.headers or {})})


def _fault(request: Request, error: Exception) -> Response:
    if not isinstance(error, ClientDisconnect):
        log.exception("fault in %s %s", request.method, request.url.path, exc_info=error)
    message = "a fault in the script compiler; its log has the details"
    return _json(500, {"message": message}, {"x-amzn-errortype": "InternalFailure"})
