"""The server's calls. A route checks who asks, parses, runs one capture, answers."""

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Depends, Request, Response
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from comity.capture.admission import MAX_BODY_BYTES, Offer, admit
from comity.capture.desk import Desk
from comity.capture.metrics import CONTENT_TYPE
from comity.capture.refusals import REFUSALS, refusal
from comity.contract.capture import BrowserStatus, CaptureAnswer, CaptureServerStatus, Limits
from comity.contract.wire import Wire

REF = "#/components/schemas/{model}"
ASKED = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": REF.format(model="CaptureRequest")}}},
    }
}


def capture_route(desk: Desk) -> APIRouter:
    """`POST /captures`."""
    settings = desk.equipment.settings
    offer = Offer(
        max_response_bytes=settings.max_response_bytes,
        shared_session=settings.shared_session,
        sink_prefixes=tuple(settings.sink_prefixes),
        signing=desk.equipment.signing.policy,
    )
    router = APIRouter(dependencies=[Depends(_token_check(desk))])

    @router.post(
        "/captures",
        response_model=CaptureAnswer,
        responses=REFUSALS,
        summary="Capture one page, now",
        openapi_extra=ASKED,
    )
    async def post_capture(request: Request) -> Response:
        task_id = f"t{secrets.token_hex(8)}"
        body = await _read_body(request)
        wanted = admit(body, task_id=task_id, offer=offer)
        if not desk.open:
            desk.metrics.count_refusal(429)
            return refusal(429, "Busy", "a capture is under way here; ask another server, or again later")
        return _answer(await desk.capture(wanted, task_id, request), then=desk.make_ready)

    return router


def looking_routes(desk: Desk) -> APIRouter:
    """What the server says of itself; `/healthz` to anybody."""
    router, guarded = APIRouter(), APIRouter(dependencies=[Depends(_token_check(desk))])

    @guarded.get("/status", response_model=CaptureServerStatus, responses={401: REFUSALS[401]})
    async def get_status() -> Response:
        return _answer(_status(desk))

    @guarded.get("/metrics", responses={401: REFUSALS[401]}, response_class=PlainTextResponse)
    async def get_metrics() -> Response:
        desk.metrics.busy.set(desk.busy)
        desk.metrics.connected.set(desk.equipment.browser.connected)
        desk.metrics.browser_starts.set(desk.equipment.browser.starts)
        return Response(desk.metrics.text(), media_type=CONTENT_TYPE)

    @router.get("/healthz")
    async def get_health() -> dict[str, bool]:
        return {"ok": True}

    router.include_router(guarded)
    return router


def _token_check(desk: Desk) -> Callable[[Request], None]:
    token = desk.equipment.settings.token.get_secret_value()

    def check(request: Request) -> None:
        if token:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode("utf-8"), f"Bearer {token}".encode()):
                raise HTTPException(401, "the bearer token is missing or wrong; it is the server's CAPTURE_TOKEN")

    return check


def _status(desk: Desk) -> CaptureServerStatus:
    settings, browser = desk.equipment.settings, desk.equipment.browser
    return CaptureServerStatus(
        busy=desk.busy,
        browser=BrowserStatus(
            connected=browser.connected, version=browser.identity.product if browser.identity else None
        ),
        build=desk.equipment.build,
        limits=Limits(
            max_response_bytes=settings.max_response_bytes,
            max_task_bytes=settings.max_task_bytes,
            max_pending_requests=settings.max_pending_requests,
        ),
        signing=desk.equipment.signing.policy,
        store=desk.equipment.store.kind,
        default_url_policies=settings.url_policies,
        default_content_type_policies=settings.content_type_policies,
    )


async def _read_body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise HTTPException(413, f"a capture request has at most {MAX_BODY_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _answer(value: Wire, *, then: Callable[[], Awaitable[None]] | None = None) -> Response:
    """`then` runs once the answer is sent, or could not be."""
    data = json.dumps(value.to_wire(), ensure_ascii=False).encode("utf-8")
    return Response(data, media_type="application/json", background=BackgroundTask(then) if then else None)
