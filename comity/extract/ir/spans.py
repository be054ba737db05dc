"""Where something stands in a source file."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

IR_CONFIG = ConfigDict(extra="forbid", alias_generator=to_camel, strict=True, allow_inf_nan=False)
"""How every IR value is read from JSON: camelCase, no unknown keys, no conversions."""

MAX_EXACT_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file: `offset` in UTF-8 bytes from 0, `line` and `column` from 1, columns in code points."""

    __pydantic_config__ = IR_CONFIG
    offset: Annotated[int, Field(ge=0, le=MAX_EXACT_INTEGER)]
    line: Annotated[int, Field(ge=1, le=MAX_EXACT_INTEGER)]
    column: Annotated[int, Field(ge=1, le=MAX_EXACT_INTEGER)]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one file; `end` is exclusive. `file` is relative to the entry file's folder."""

    __pydantic_config__ = IR_CONFIG
    file: Annotated[str, Field(min_length=1)]
    start: Position
    end: Position
