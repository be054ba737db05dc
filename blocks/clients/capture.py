"""A capture server as typed calls: one page, now, and hung up where it is to stop."""

import json
import threading
from typing import Any

from pydantic import ValidationError

from blocks.clients.errors import AnswerUnreadable, CaptureBusy, ServiceRefused
from blocks.clients.exchange import Answered, Exchange
from blocks.clients.service import CONNECT_TIMEOUT_MS, ServiceClient, fields_of, headers_for
from blocks.rules import first_problem
from comity.contract.capture import CALLER_DEADLINE_MS, CaptureAnswer, CaptureRequest, CaptureServerStatus


class CaptureClient(ServiceClient):
    """The capture server at `url`. Thread-safe."""

    part = "capture server"

    def __init__(self, url: str, token: str, tls_ca_pem: str, *, timeout_ms: int = 10_000) -> None:
        super().__init__(url, token, tls_ca_pem, timeout_ms=timeout_ms)
        self._headers = headers_for(token) | {"content-type": "application/json"}

    def status(self) -> CaptureServerStatus:
        """`GET /status`: busy or not, its browser, its limits."""
        return self.ask(CaptureServerStatus, "GET", "/status")

    def capture(
        self,
        request: CaptureRequest,
        *,
        stop: threading.Event,
        deadline_ms: int = CALLER_DEADLINE_MS,
        connect_timeout_ms: int = CONNECT_TIMEOUT_MS,
    ) -> CaptureAnswer:
        """`POST /captures`: the answer, good or bad, when the capture is over.

        Raises CaptureBusy (429); ServiceRefused (400, 500 and every other status); ServiceUnreachable where nothing was
        sent; ConnectionLost, DeadlinePassed and AnswerUnreadable where the page may have been visited; HungUp within
        a second after `stop` was set, the connection closed.
        """
        body = request.model_dump_json(by_alias=True, exclude_none=True).encode()
        with Exchange(
            self.part,
            self.url,
            tls=self._tls,
            stop=stop,
            deadline_ms=deadline_ms,
            connect_timeout_ms=connect_timeout_ms,
        ) as exchange:
            answered = exchange.post("/captures", self._headers, body)
        if answered.status != 200:
            raise self._capture_refusal(answered)
        try:
            return CaptureAnswer.model_validate_json(answered.body)
        except ValidationError as error:
            raise AnswerUnreadable(
                self.part, self.url, f"POST /captures answered what this version cannot read: {first_problem(error)}"
            ) from error

    def _capture_refusal(self, answered: Answered) -> ServiceRefused:
        body = _json(answered.body)
        message = body.get("message") if isinstance(body, dict) else None
        if not isinstance(message, str) or not message:
            message = answered.body[:200].decode("utf-8", "replace") or "no message"
        kind = CaptureBusy if answered.status == 429 else ServiceRefused
        return kind(
            self.part,
            self.url,
            call="POST /captures",
            status=answered.status,
            message=" ".join(message.split())[:1000],
            kind=answered.headers.get("x-amzn-errortype"),
            fields=fields_of(body),
            body=body,
        )


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
