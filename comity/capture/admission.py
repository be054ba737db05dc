"""Which requests are taken: the contract's rules first, then what this server can honour.

A setting that would be ignored is refused, naming the field: a caller must never believe in a feature that was not
applied.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from comity.capture.banner_frameworks import NAMES
from comity.capture.errors import RequestRefusedError
from comity.capture.names import excess_bytes, stem
from comity.capture.sink import allowed
from comity.contract.capture import CaptureRequest, FieldProblem, PageScript, SigningPolicy
from comity.contract.scripts import sha256_of

MAX_BODY_BYTES = 16 * 1024 * 1024
"""A request with a hundred large scripts is far below; anything above is not a capture request."""

_DESCRIPTION = CaptureRequest.model_json_schema()


@dataclass(frozen=True, slots=True)
class Offer:
    """What this server's settings allow."""

    max_response_bytes: int
    shared_session: bool = False
    sink_prefixes: tuple[str, ...] = ()
    signing: SigningPolicy = "off"


def admit(body: bytes, *, task_id: str, offer: Offer) -> CaptureRequest:
    """The request that `body` holds. Raises RequestRefusedError with every problem found."""
    try:
        request = CaptureRequest.model_validate_json(body)
    except ValidationError as error:
        raise RequestRefusedError([_problem(item["loc"], item["msg"]) for item in error.errors()]) from None
    problems = [
        *_unhonoured(request, offer),
        *_signing(request, offer.signing),
        *_frameworks(request),
        *_hashes(request),
        *_repeated_ids(request),
        *_name(request, task_id),
    ]
    if request.max_response_bytes is not None and request.max_response_bytes > offer.max_response_bytes:
        message = f"may only tighten this server's limit of {offer.max_response_bytes}"
        problems.append(FieldProblem(path="/maxResponseBytes", message=message))
    if problems:
        raise RequestRefusedError(problems)
    return request


def pointer(loc: Sequence[str | int]) -> str:
    """A JSON Pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in loc)


def _problem(loc: Sequence[str | int], message: str) -> FieldProblem:
    """Rules over several fields are told of the object that has them; their messages begin with the field's name."""
    text = message.removeprefix("Value error, ")
    first = text.split(" ", 1)[0]
    if text != message and first in _names_at(loc):
        loc = (*loc, first)
    return FieldProblem(path=pointer(loc), message=text)


def _names_at(loc: Sequence[str | int]) -> Iterable[str]:
    """The names of the fields that the request has there; none where there is no object."""
    schema: dict[str, Any] = _DESCRIPTION
    for part in loc:
        schema = _resolved(
            schema.get("items", {}) if isinstance(part, int) else schema.get("properties", {}).get(part, {})
        )
    names: Iterable[str] = schema.get("properties", {})
    return names


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    for choice in (schema, *schema.get("anyOf", ())):
        if "$ref" in choice:
            found: dict[str, Any] = _DESCRIPTION["$defs"][choice["$ref"].rpartition("/")[2]]
            return found
        if choice.get("type") == "array":
            array: dict[str, Any] = choice
            return array
    return schema


def _unhonoured(request: CaptureRequest, offer: Offer) -> Iterable[FieldProblem]:
    if request.session == "shared" and not offer.shared_session:
        message = "this server shares no session between captures; its setting is CAPTURE_SHARED_SESSION"
        yield FieldProblem(path="/session", message=message)
    if request.artifact_sink is not None and not allowed(request.artifact_sink.url, offer.sink_prefixes):
        message = "lies below none of the prefixes that this server allows; its setting is CAPTURE_SINK_PREFIXES"
        yield FieldProblem(path="/artifactSink/url", message=message)
    if request.storage_values and not request.capture_formats.wacz:
        message = "the values are kept in the archive alone: it needs captureFormats.wacz"
        yield FieldProblem(path="/storageValues", message=message)


def _frameworks(request: CaptureRequest) -> Iterable[FieldProblem]:
    spec = request.dismiss_banners.spec if request.dismiss_banners is not None else None
    for index, name in enumerate(spec.exclude_frameworks if spec is not None else ()):
        if name not in NAMES:
            yield FieldProblem(
                path=pointer(("dismissBanners", "spec", "excludeFrameworks", index)),
                message=f"no framework is called that; known are {', '.join(sorted(NAMES))}",
            )


def _signing(request: CaptureRequest, policy: SigningPolicy) -> Iterable[FieldProblem]:
    if request.signing and policy == "off":
        yield FieldProblem(path="/signing", message="this server does not sign (CAPTURE_SIGNING=off); leave it out")
    if request.signing is False and policy == "required" and request.capture_formats.wacz:
        message = "this server signs every archive (CAPTURE_SIGNING=required); leave it out or true"
        yield FieldProblem(path="/signing", message=message)


def _hashes(request: CaptureRequest) -> Iterable[FieldProblem]:
    for name, index, script in _scripts(request):
        found = sha256_of(script.source)
        if found != script.sha256.lower():
            yield FieldProblem(
                path=pointer((name, index, "sha256")),
                message=f"does not match the source of {script.id}: its UTF-8 bytes hash to {found}",
            )


def _repeated_ids(request: CaptureRequest) -> Iterable[FieldProblem]:
    seen: set[str] = set()
    for name, index, script in _scripts(request):
        if script.id in seen:
            yield FieldProblem(path=pointer((name, index, "id")), message=f"{script.id} is given twice")
        seen.add(script.id)


def _scripts(request: CaptureRequest) -> Iterable[tuple[str, int, PageScript]]:
    for name, scripts in (("preload", request.preload), ("behaviors", request.behaviors)):
        for index, script in enumerate(scripts):
            yield name, index, script


def _name(request: CaptureRequest, task_id: str) -> Iterable[FieldProblem]:
    over = excess_bytes(stem(task_id, request.correlation_id, request.labels))
    if over > 0:
        yield FieldProblem(
            path="/labels" if request.labels else "/correlationId",
            message=f"makes the artifacts' file names {over} bytes longer than 255; shorten labels or correlationId",
        )


def refusal_json(kind: str, message: str, problems: list[FieldProblem] | None = None) -> tuple[dict[str, str], bytes]:
    """Headers and body of a refusal: its kind in `x-amzn-errortype`, the message in the body."""
    body: dict[str, object] = {"message": message}
    if problems is not None:
        body["fieldList"] = [problem.to_wire() for problem in problems]
    return (
        {"x-amzn-errortype": kind, "content-type": "application/json"},
        json.dumps(body, ensure_ascii=False).encode("utf-8"),
    )
