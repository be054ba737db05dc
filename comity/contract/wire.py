"""How every message between services looks: camelCase JSON, frozen values, unknown keys refused in requests.

A request that carries a key nobody knows is a caller who believes in a feature that does not exist: refused. An
answer may gain keys before its reader learns them: ignored.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """A frozen value that travels as JSON with camelCase names."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_alias=True, validate_by_name=True, frozen=True)

    def to_wire(self) -> dict[str, Any]:
        """The value as plain JSON data, names in camelCase, absent optionals left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Request(Wire):
    """A message that asks for something. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class Answer(Wire):
    """A message that answers. Unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore")


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs its zone: write it as RFC 3339 UTC, for example 2030-01-31T12:00:00Z")
    return value.astimezone(UTC)


def rfc3339(value: datetime) -> str:
    """An aware time as RFC 3339 in UTC with milliseconds and a trailing Z."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Instant = Annotated[datetime, AfterValidator(_aware), PlainSerializer(rfc3339, return_type=str, when_used="json")]
"""An aware UTC time, RFC 3339 on the wire."""
