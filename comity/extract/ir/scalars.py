"""Scalars that a program carries, and the difference between a null and nothing."""

from typing import Any, Final, final

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Scalar = str | bool | int | float | None
"""What JSON calls a scalar. Integers are exact; a float is finite."""


@final
class Absent:
    """The type of `ABSENT`: a default that was not written, which is not a default of null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source, handler
        return core_schema.is_instance_schema(cls)


ABSENT: Final = Absent()
