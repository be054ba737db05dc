"""Parse request bodies: JSON within a limit, checked against the wire model, problems named by their wire fields."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json
from starlette.requests import Request

from comity.contract.ledger import ErrorField
from comity.contract.watch import Outcome
from ledger.api.parts_of import Ledger
from ledger.errors import BadInput, TooLarge
from ledger.settings import Settings

Model = TypeVar("Model", bound=BaseModel)

MAX_FIELDS = 20
"""A body can be wrong in ten thousand places; the first few tell as much."""

SCRIPT_SHAPES = ("str", "ScriptChoice", "InlineScript")
"""What pydantic calls the alternatives of one element of `scripts`."""

TAGGED = (("holder",), ("watched",))
TAGS = frozenset(("crawl", "watch", "main", "whole", "selector", "extractor", "rehearsed", *get_args(Outcome)))
"""Fields whose values are told apart by their kind, and the kinds; `jobs` are told apart by their outcome."""


def small(settings: Settings) -> int:
    """Bytes of an ordinary body."""
    return settings.max_body_bytes


def lists(settings: Settings) -> int:
    """Bytes of a body that may list 10,000 URLs."""
    return settings.max_list_bytes


def reports(settings: Settings) -> int:
    """Bytes of a body that may report 10,000 pages."""
    return settings.max_report_bytes


def json_body(model: type[Model], limit: Callable[[Settings], int] = small) -> Callable[..., Awaitable[Model]]:
    """A dependency that gives the request's body as `model`. Raises BadInput and TooLarge."""

    async def parse(request: Request, ledger: Ledger) -> Model:
        raw = await _read(request, limit(ledger.settings))
        return validate(model, raw)

    return parse


def validate(model: type[Model], raw: bytes) -> Model:
    """The JSON text as `model`. Raises BadInput."""
    try:
        data = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise BadInput.at("", f"the body is not JSON: {error}") from None
    problem = _unstorable(data, "")
    if problem is not None:
        raise BadInput.at(problem, "has a NUL character, which no database and no page can hold")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise BadInput(_fields(error, data)) from None


async def _read(request: Request, limit_bytes: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit_bytes:
        raise TooLarge(limit_bytes)
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > limit_bytes:
            raise TooLarge(limit_bytes)
    return bytes(received)


def _unstorable(data: object, path: str) -> str | None:
    """The path of the first string with a NUL, keys included. Depth is bounded by the JSON parser (200)."""
    if isinstance(data, str):
        return path if "\0" in data else None
    if isinstance(data, dict):
        for key, value in data.items():
            where = f"{path}.{key}" if path else str(key)
            found = where if "\0" in key else _unstorable(value, where)
            if found is not None:
                return found.replace("\0", "\\0")
    elif isinstance(data, list):
        for place, value in enumerate(data):
            found = _unstorable(value, f"{path}.{place}")
            if found is not None:
                return found
    return None


def _fields(error: ValidationError, data: object) -> list[ErrorField]:
    problems = error.errors(include_url=False, include_input=False)
    named: dict[str, str] = {}
    for problem in problems:
        location, message = _wire_path(problem["loc"], data), _message(problem)
        if location is not None:
            named.setdefault(location, message)
    return [ErrorField(field=field, message=message) for field, message in list(named.items())[:MAX_FIELDS]]


def _wire_path(location: tuple[int | str, ...], data: object) -> str | None:
    """The dotted wire path, without pydantic's own words in it; None for an alternative that the input is not."""
    if len(location) >= 3 and location[0] == "scripts" and location[2] in SCRIPT_SHAPES:
        place, shape = location[1], location[2]
        element = data["scripts"][place] if isinstance(data, dict) else None
        if (_shape_of(element) or "str") != shape:
            return None
        location = (*location[:2], *location[3:])
    return ".".join(str(part) for part in _without_tags(location))


def _without_tags(location: tuple[int | str, ...]) -> Iterator[int | str]:
    """The path without the alternatives that pydantic names in it, where a value is told apart by its kind."""
    before: tuple[int | str, ...] = ()
    for part in location:
        tagged = before[-1:] in TAGGED or (before[:1] == ("jobs",) and len(before) == 2)
        before = (*before, part)
        if not (tagged and part in TAGS):
            yield part


def _shape_of(element: object) -> str | None:
    if isinstance(element, str):
        return "str"
    if isinstance(element, dict):
        return "InlineScript" if {"name", "source", "phase"} & element.keys() else "ScriptChoice"
    return None


def _message(problem: ErrorDetails) -> str:
    message = str(problem["msg"])
    kind = problem["type"]
    if kind == "extra_forbidden":
        return "is not known here; remove it"
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def query_fields(problems: list[Any]) -> list[ErrorField]:
    """Problems of path and query parameters, as the framework reports them."""
    return [
        ErrorField(field=".".join(str(part) for part in problem["loc"][1:]), message=_message(problem))
        for problem in problems[:MAX_FIELDS]
    ]
