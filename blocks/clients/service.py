"""One JSON call to one of our services over httpx, with every failure under its own name."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

import httpx
from pydantic import ValidationError

from blocks.clients.errors import (
    AnswerUnreadable,
    ConnectionLost,
    DeadlinePassed,
    ServiceRefused,
    ServiceUnreachable,
)
from blocks.clients.tls import context_for, context_trusting_nobody, usable_ca
from blocks.rules import check_ca, first_problem, service_url
from comity.contract.ledger import ErrorField
from comity.contract.wire import Answer, Request

AnswerT = TypeVar("AnswerT", bound=Answer)

CONNECT_TIMEOUT_MS = 5_000


def headers_for(token: str) -> dict[str, str]:
    """Bearer authentication; an empty token sends none."""
    return {"accept": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})


class ServiceClient:
    """A service at one base URL. Thread-safe; close it, or use it as a context manager.

    `tls_ca_pem` is the only CA that is trusted; empty means plaintext and goes only with http://. No proxy, no
    certificate and no password is taken from the environment. Raises ValueError where URL and CA do not fit.
    """

    part = "service"

    def __init__(self, url: str, token: str, tls_ca_pem: str, *, timeout_ms: int = 30_000) -> None:
        self.url = service_url("url", url)
        tls_ca_pem = usable_ca("tls_ca_pem", tls_ca_pem)
        check_ca("url", [self.url], tls_ca_pem)
        self._tls = context_for(tls_ca_pem) if tls_ca_pem else None
        self.timeout_ms = timeout_ms
        self._http = httpx.Client(
            trust_env=False,
            verify=self._tls or context_trusting_nobody(),
            headers=headers_for(token),
            timeout=httpx.Timeout(timeout_ms / 1000, connect=min(timeout_ms, CONNECT_TIMEOUT_MS) / 1000),
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections. The client is of no use afterwards."""
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Request | None = None,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        timeout_ms: int | None = None,
    ) -> httpx.Response:
        """A 2xx answer. Raises a ServiceError for anything else."""
        timeout: Any = httpx.USE_CLIENT_DEFAULT
        if timeout_ms is not None:
            timeout = httpx.Timeout(timeout_ms / 1000, connect=min(timeout_ms, CONNECT_TIMEOUT_MS) / 1000)
        with self._told(f"{method} {path}", timeout_ms or self.timeout_ms):
            response = self._http.request(
                method,
                self.url + path,
                content=body.model_dump_json(by_alias=True, exclude_none=True).encode() if body else None,
                params={name: value for name, value in (query or {}).items() if value is not None},
                headers=(headers or {}) | ({"content-type": "application/json"} if body else {}),
                timeout=timeout,
            )
        if not response.is_success:
            raise self.refusal(f"{method} {path}", response)
        return response

    @contextlib.contextmanager
    def stream(
        self, path: str, *, query: dict[str, Any] | None = None, accept: str = "*/*"
    ) -> Iterator[Iterator[bytes]]:
        """The body of a GET, piece by piece as it comes. Raises a ServiceError, in the block too; the client's timeout
        is for each piece."""
        call = f"GET {path}"
        with self._told(call, self.timeout_ms):
            params = {name: value for name, value in (query or {}).items() if value is not None}
            with self._http.stream("GET", self.url + path, params=params, headers={"accept": accept}) as response:
                if not response.is_success:
                    response.read()
                    raise self.refusal(call, response)
                yield response.iter_bytes()

    @contextlib.contextmanager
    def _told(self, call: str, timeout_ms: int) -> Iterator[None]:
        """What can go wrong under way, by our names for it."""
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise ServiceUnreachable(
                self.part, self.url, _said(error, "no connection"), f"check that the {self.part} runs and its address"
            ) from error
        except httpx.TimeoutException as error:
            raise DeadlinePassed(self.part, self.url, timeout_ms) from error
        except httpx.TransportError as error:
            raise ConnectionLost(
                self.part, self.url, f"connection lost in {call}: {_said(error, 'no reason given')}"
            ) from error
        except httpx.DecodingError as error:
            raise AnswerUnreadable(self.part, self.url, f"{call}: {_said(error, 'undecodable')}") from error

    def ask(self, model: type[AnswerT], method: str, path: str, **options: Any) -> AnswerT:
        """A 2xx answer read as `model`. Raises AnswerUnreadable where it is not one."""
        response = self.call(method, path, **options)
        return self.read(f"{method} {path}", lambda: model.model_validate_json(response.content))

    def read(self, call: str, parse: Callable[[], AnswerT]) -> AnswerT:
        """What `parse` makes of an answer to `call`."""
        try:
            return parse()
        except ValidationError as error:
            raise AnswerUnreadable(
                self.part, self.url, f"{call} answered what this version cannot read: {first_problem(error)}"
            ) from error

    def refusal(self, call: str, response: httpx.Response) -> ServiceRefused:
        """The error for an answer that is not 2xx."""
        body = json_of(response)
        return ServiceRefused(
            self.part,
            self.url,
            call=call,
            status=response.status_code,
            message=message_of(body, response),
            kind=response.headers.get("x-amzn-errortype"),
            code=code_of(body),
            fields=fields_of(body),
            body=body,
            next_step=_next_step(self.part, response.status_code),
        )


def json_of(response: httpx.Response) -> Any:
    """The answer's JSON, or None."""
    try:
        return response.json()
    except ValueError:
        return None


def message_of(body: Any, response: httpx.Response) -> str:
    """What a refusal says for itself, on one line of at most 500 characters."""
    if isinstance(body, dict):
        for name in ("error", "message", "detail"):
            if isinstance(body.get(name), str) and body[name]:
                return " ".join(body[name].split())[:500]
    return " ".join(response.text.split())[:200] or response.reason_phrase or "no message"


def code_of(body: Any) -> str | None:
    """What programs decide by, where the service gives a code."""
    code = body.get("code") if isinstance(body, dict) else None
    return code if isinstance(code, str) else None


def fields_of(body: Any) -> tuple[ErrorField, ...]:
    """The fields that a refusal names: the ledger's `fields`, or a `fieldList` with JSON Pointers."""
    if not isinstance(body, dict):
        return ()
    named = body.get("fields") or body.get("fieldList") or []
    if not isinstance(named, list):
        return ()
    return tuple(
        ErrorField(field=str(one.get("field", one.get("path", ""))), message=str(one.get("message", "")))
        for one in named
        if isinstance(one, dict)
    )


def _said(error: Exception, otherwise: str) -> str:
    return " ".join(str(error).split())[:300] or otherwise


def _next_step(part: str, status: int) -> str:
    if status == 401:
        return f"check the token for the {part} (comity blocks init writes it into the Block)"
    if status == 404:
        return "check the id, and that this token may see it"
    return f"see the {part}'s log" if status >= 500 and status != 501 else ""
