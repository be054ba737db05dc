"""The ledger's HTTP application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from comity.contract.web_address import is_loopback
from ledger.api import (
    archives,
    audit,
    caller,
    catalogue,
    crawls,
    events,
    extractions,
    extractors,
    hosts,
    levels,
    refusals,
    sink,
    tokens,
    watch,
    watch_channels,
    watch_feeds,
    watch_moving,
    watch_preview,
    watch_queue,
)
from ledger.api.bodies import query_fields
from ledger.api.guard import Guard
from ledger.api.schema import DescribedApp
from ledger.errors import BadInput, LedgerRefusal
from ledger.parts import Parts

EXTRACTING = (extractors, extractions)
WATCHING = (watch, watch_moving, watch_channels, watch_feeds, watch_preview)


@asynccontextmanager
async def at_work(parts: Parts) -> AsyncIterator[None]:
    """What runs behind the routes, for as long as the application does; then everything is closed."""
    parts.background.begin(
        dispatch=parts.dispatcher.dispatch,
        stop_run=parts.dispatcher.stop_run,
        extract=parts.extraction_runs.dispatch,
    )
    days = parts.settings.retention_days
    lasting = [
        asyncio.create_task(parts.reconciler.run()),
        asyncio.create_task(parts.extraction_runs.run()),
        asyncio.create_task(parts.watching.tidy.run()),
        asyncio.create_task(parts.watching.prices.run()),
    ]
    if days is not None:
        lasting.append(asyncio.create_task(parts.pruning.run(days)))
    parts.catch_up.start()
    parts.teller.start()
    try:
        yield
    finally:
        for task in lasting:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(parts.catch_up.stop)
        await asyncio.to_thread(parts.teller.stop)
        await parts.background.end()
        await parts.prefect.close()
        await parts.extraction_runs.close()
        parts.store.close()


def create_app(parts: Parts) -> FastAPI:
    """The application over these parts. While it runs, levels are dispatched and running crawls reconciled."""
    # No documentation pages: they would load their scripts from elsewhere. The schema itself is behind the token.
    app = DescribedApp(
        title="Comity ledger",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lambda _: at_work(parts),
        redirect_slashes=False,
    )
    app.state.parts = parts
    # In the order of how often they are called: a request is held against one after the other.
    busy = (hosts, watch_queue, levels, crawls, events)
    for module in (*busy, caller, audit, catalogue, archives, tokens, sink, *EXTRACTING, *WATCHING):
        app.include_router(module.router)
    app.add_exception_handler(LedgerRefusal, _refused)
    app.add_exception_handler(RequestValidationError, _bad_parameter)
    app.add_exception_handler(HTTPException, _framework)
    settings = parts.settings
    app.add_middleware(
        Guard,
        identify=parts.identify,
        hosts=(settings.host, *settings.allowed_hosts),
        open_metrics=is_loopback(settings.host),
        replay_origins=settings.replay_origins,
    )
    return app


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, LedgerRefusal)
    return refusals.answer(error)


async def _bad_parameter(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return refusals.answer(BadInput(query_fields(list(error.errors()))))


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: f"no such path: {request.url.path}", 405: f"{request.method} is not for {request.url.path}"}
    headers = dict(error.headers) if error.headers else None
    return refusals.plain(error.status_code, words.get(error.status_code, str(error.detail)), headers)
