"""Programs out of JSON: nothing that does not hold is let in."""

import json
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from comity.extract.ir.canonical import plain
from comity.extract.ir.program import Extractor
from comity.extract.ir.references import faults_of

_EXTRACTOR = TypeAdapter(Extractor)
MAX_FAULTS = 50


@dataclass(frozen=True, slots=True)
class ReadProgram:
    """A program, or the sentences (`path: what is wrong`) on why the JSON is none; their code is `E_IR_INVALID`."""

    program: Extractor | None
    faults: tuple[str, ...] = ()


def read_program(data: str | bytes) -> ReadProgram:
    """Reads a program's JSON, canonical or not, and checks all of it. Never raises for what `data` may hold."""
    try:
        program = _EXTRACTOR.validate_json(data)
        given = json.loads(data)
    except ValidationError as error:
        return ReadProgram(None, _sentences(error))
    except (ValueError, RecursionError) as error:
        return ReadProgram(None, (f"the JSON cannot be read: {error}",))
    # What was read says all that was given, unless a member is null where it should have been left out.
    if plain(program) != given:
        return ReadProgram(None, ("a member is null that must be left out instead, or a key is there twice",))
    faults = tuple(faults_of(program))[:MAX_FAULTS]
    return ReadProgram(None if faults else program, faults)


def _sentences(error: ValidationError) -> tuple[str, ...]:
    sentences = []
    for one in error.errors(include_url=False, include_input=False)[:MAX_FAULTS]:
        place = ".".join(str(part) for part in one["loc"]) or "the program"
        sentences.append(f"{place}: {one['msg']}")
    return tuple(sentences)
