"""Types of values, as trees: a primitive, an array of a type, a type that may also be null."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from comity.extract.ir.spans import IR_CONFIG

PrimitiveName = Literal[
    "string", "bool", "int", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64",
    "float", "f32", "f64", "object", "unknown",
]  # fmt: skip

INTEGER_RANGES: dict[str, tuple[int, int]] = {
    "int": (-(2**63), 2**63 - 1),
    **{f"u{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
    **{f"i{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
}
"""Smallest and largest value of every integer type."""
FLOAT_NAMES = frozenset({"float", "f32", "f64"})


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["primitive"]
    name: PrimitiveName

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArrayType:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["array"]
    element: "TypeRef"

    def __str__(self) -> str:
        return f"{self.element}[]"


@dataclass(frozen=True, slots=True)
class NullableType:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["nullable"]
    inner: "TypeRef"

    def __str__(self) -> str:
        return f"{self.inner}?"


TypeRef = Annotated[PrimitiveType | ArrayType | NullableType, Field(discriminator="kind")]


def primitive(name: PrimitiveName) -> PrimitiveType:
    return PrimitiveType("primitive", name)


STRING = primitive("string")


def nullable(inner: TypeRef) -> TypeRef:
    """The type that also admits null. `unknown` and a nullable type admit it already."""
    if isinstance(inner, NullableType) or admits_null(inner):
        return inner
    return NullableType("nullable", inner)


def admits_null(of: TypeRef) -> bool:
    return isinstance(of, NullableType) or (isinstance(of, PrimitiveType) and of.name == "unknown")
