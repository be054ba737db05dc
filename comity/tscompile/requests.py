"""A request's bytes to the scripts that it asks for, or the refusal that it earns."""

import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from comity.contract.capture import FieldProblem
from comity.contract.compiler import CompileRequest
from comity.contract.scripts import sha256_of
from comity.tscompile.errors import HashMismatch, Invalid
from comity.tscompile.program import Source

MAX_PROBLEMS = 100
"""A fieldList of more helps nobody."""

_PLAINER = {
    "sha256": "64 lower-case hex digits: the SHA-256 of the source's UTF-8 bytes",
    "id": "a lower-case letter, then lower-case letters, digits and hyphens",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The scripts to check, and each as the caller sent it, so that nothing else of it changes on the way back."""

    sources: list[Source]
    as_sent: list[dict[str, Any]]


def read_request(body: bytes) -> Asked:
    """Raises Invalid with a pointer per problem, or HashMismatch for the first script whose source has another hash."""
    data = _parse(body)
    try:
        request = CompileRequest.model_validate(data, strict=True)
    except ValidationError as error:
        raise Invalid([_problem(each) for each in error.errors(include_url=False)[:MAX_PROBLEMS]]) from None
    problems = [
        *_repeated([script.id for script in request.scripts]),
        *_not_text([script.source for script in request.scripts]),
    ]
    if problems:
        raise Invalid(problems[:MAX_PROBLEMS])
    for script in request.scripts:
        actual = sha256_of(script.source)
        if not hmac.compare_digest(actual, script.sha256):
            raise HashMismatch(f"script {script.id}: sha256 is {script.sha256}, but its source has {actual}", script.id)
    return Asked([Source(script.id, script.source) for script in request.scripts], data["scripts"])


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise Invalid.at("", "nested too deeply") from None
    except ValueError as error:  # also UnicodeDecodeError and JSONDecodeError
        raise Invalid.at("", f"not JSON: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _repeated(ids: Sequence[str]) -> list[FieldProblem]:
    first: dict[str, int] = {}
    problems = []
    for number, script_id in enumerate(ids):
        if script_id in first:
            message = f"repeats the id {script_id} of /scripts/{first[script_id]}"
            problems.append(FieldProblem(path=f"/scripts/{number}/id", message=message))
        first.setdefault(script_id, number)
    return problems


def _not_text(sources: Sequence[str]) -> list[FieldProblem]:
    """JSON can carry half a surrogate pair; UTF-8, over which the hash goes, cannot."""
    message = "holds a lone surrogate, which UTF-8 cannot carry"
    return [
        FieldProblem(path=f"/scripts/{number}/source", message=message)
        for number, source in enumerate(sources)
        if any(0xD800 <= ord(character) <= 0xDFFF for character in source)
    ]


def _problem(error: Any) -> FieldProblem:
    where: tuple[int | str, ...] = error["loc"]
    pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in where)
    message: str = error["msg"]
    if error["type"] == "string_pattern_mismatch" and where and where[-1] in _PLAINER:
        message = _PLAINER[str(where[-1])]
    elif error["type"] == "extra_forbidden":
        message = "unknown key"
    return FieldProblem(path=pointer, message=message)
