"""Scripts that run inside pages, as they travel: the catalogue's TypeScript, then the compiler's JavaScript.

One shape for both, because the compiler changes only `source` and `sha256`.
"""

import hashlib
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from comity.contract.wire import Answer, Request

Phase = Literal["preload", "behavior"]
"""`preload` runs before navigation in every frame; `behavior` after load in the main frame, with a receptacle."""

SCRIPT_ID_PATTERN = r"^[a-z][a-z0-9-]*$"
ScriptId = Annotated[str, Field(pattern=SCRIPT_ID_PATTERN, max_length=64)]
Sha256Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="64 lower-case hex digits")]

INLINE_PREFIX = "inline-"
"""Ids that begin so are pinned on one crawl and never in the catalogue."""

MAX_SCRIPTS = 100


def sha256_of(source: str) -> str:
    """The hash that identifies a script: SHA-256 of its UTF-8 bytes, 64 lower-case hex digits."""
    return hashlib.sha256(source.encode("utf-8")).hexdigest()


def _utf8(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"not UTF-8 text: a lone surrogate at character {error.start}") from None
    return value


Source = Annotated[str, AfterValidator(_utf8)]
"""Source text that has UTF-8 bytes: its hash is over them, and JSON can carry text that has none."""


class PinnedScript(Request):
    """A script with everything that decides what it does. `sha256` is over the UTF-8 bytes of `source`."""

    id: ScriptId
    version: Annotated[int, Field(ge=1)]
    phase: Phase
    source: Source
    sha256: Sha256Hex
    options: dict[str, Any] | None = None


class ScriptIdentity(Answer):
    """Which script, without its source."""

    id: str
    version: int
    phase: Phase | None = None
    sha256: str
    options: dict[str, Any] | None = None


class CompiledScript(Request):
    """Which JavaScript a pinned script became: `sha256` is over the JavaScript's UTF-8 bytes."""

    id: ScriptId
    version: Annotated[int, Field(ge=1)]
    sha256: Sha256Hex


class Compiled(Request):
    """What compiled a level's scripts, and the hash of each result. Written on the crawl at its first level."""

    typescript: str
    host_types: str
    scripts: list[CompiledScript]
