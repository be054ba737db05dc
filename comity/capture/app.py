"""The server's application over one desk: its calls, its refusals, its description."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI

from comity.capture.desk import Desk
from comity.capture.errors import CaptureFault
from comity.capture.refusals import add_refusals
from comity.capture.routes import REF, capture_route, looking_routes
from comity.contract.capture import CaptureRequest


def make_app(desk: Desk) -> FastAPI:
    """The application over one desk. Its lifespan starts the browser and ends it."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            # One that does not start now is told by the log, and by the first capture.
            with contextlib.suppress(CaptureFault):
                await desk.equipment.browser.ready()
            desk.equipment.spare.prepare()
            yield
        finally:
            await desk.equipment.browser.end()
            await desk.equipment.spare.end()

    app = FastAPI(
        title="Comity capture server",
        version=desk.equipment.build.version,
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.include_router(capture_route(desk))
    app.include_router(looking_routes(desk))
    add_refusals(app, desk.metrics)
    _describe_request(app)
    return app


def _describe_request(app: FastAPI) -> None:
    """Adds the request's models to the description: the route reads its body itself, so FastAPI does not know them."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        whole = plain()
        models = CaptureRequest.model_json_schema(ref_template=REF)
        parts = models.pop("$defs", {}) | {"CaptureRequest": models}
        schemas: dict[str, Any] = whole.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in parts.items():
            schemas.setdefault(name, schema)
        return whole

    app.openapi = described  # type: ignore[method-assign]  # the way that FastAPI documents
