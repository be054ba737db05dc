"""The script catalogue."""

from typing import Annotated, Any

from pydantic import Field, StrictBool

from comity.contract.scripts import Phase, Source
from comity.contract.wire import Answer, Instant, Request


class AddScript(Request):
    """`POST /api/scripts`: a new version of `id`; the same bytes, phase and options reuse the version."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=64)]
    phase: Phase
    source: Annotated[Source, Field(min_length=1)]
    options: dict[str, Any] | None = None
    description: Annotated[str, Field(max_length=2000)] = ""


class ChangeScript(Request):
    """`PATCH /api/scripts/{id}`."""

    enabled: StrictBool


class ScriptView(Answer):
    """The newest version of a catalogue script, without its source."""

    id: str
    version: int
    phase: Phase
    sha256: str
    options: dict[str, Any] | None = None
    description: str
    enabled: bool
    added_at: Instant


class ScriptList(Answer):
    scripts: list[ScriptView]


class ScriptDetail(ScriptView):
    """`GET /api/scripts/{id}`: one version with its source; the newest, or the one that was asked for.

    `versions` are all that there are, oldest first.
    """

    source: str
    versions: list[int]
