"""Types as they are written: `u8`, `string[]`, `(string?)[]`; and which value or type fits which."""

import math
import re
import struct
from typing import cast, get_args

from comity.extract.ir.scalars import Scalar
from comity.extract.ir.types import (
    FLOAT_NAMES,
    INTEGER_RANGES,
    ArrayType,
    NullableType,
    PrimitiveName,
    PrimitiveType,
    TypeRef,
    primitive,
)

MAX_DEPTH = 16
"""Arrays in arrays; no page has more."""
_PART = re.compile(r"[ \t]*([a-z0-9]+|\[\]|[?()])[ \t]*")
_NAMES = frozenset(get_args(PrimitiveName))


def read_type(written: str) -> TypeRef | str:
    """The type that an expression means, or a sentence on what is wrong with it. Postfixes bind left to right."""
    parts = _parts(written)
    if parts is None:
        return f"{written[:60]!r} is no type: write for example string, u8?, string[]"
    try:
        found, rest = _postfixed(parts, 0)
    except ValueError as error:
        return str(error)
    return found if rest == len(parts) else f"{parts[rest]!r} is too much in the type {written[:60]!r}"


def _parts(written: str) -> list[str] | None:
    parts: list[str] = []
    at = 0
    while at < len(written):
        found = _PART.match(written, at)
        if found is None or len(parts) > 4 * MAX_DEPTH:
            return None
        parts.append(found.group(1))
        at = found.end()
    return parts or None


def _postfixed(parts: list[str], at: int, depth: int = 0) -> tuple[TypeRef, int]:
    if depth > MAX_DEPTH:
        raise ValueError(f"a type may be nested {MAX_DEPTH} levels deep")
    found: TypeRef
    if at < len(parts) and parts[at] == "(":
        found, at = _postfixed(parts, at + 1, depth + 1)
        if at >= len(parts) or parts[at] != ")":
            raise ValueError("a ) is missing in the type")
    else:
        name = parts[at] if at < len(parts) else "nothing"
        if name not in _NAMES:
            raise ValueError(f"there is no type {name[:40]!r}: the types are {', '.join(get_args(PrimitiveName))}")
        found = primitive(cast("PrimitiveName", name))
    at += 1
    while at < len(parts) and parts[at] in {"[]", "?"}:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"a type may be nested {MAX_DEPTH} levels deep")
        if parts[at] == "[]":
            found = ArrayType("array", found)
        elif isinstance(found, NullableType):
            raise ValueError("a type is nullable once: remove a ?")
        else:
            found = NullableType("nullable", found)
        at += 1
    return found, at


def assignable(given: TypeRef, wanted: TypeRef) -> bool:
    """Whether every value of one type is a value of the other. Numbers are never converted."""
    if given == wanted or (isinstance(wanted, PrimitiveType) and wanted.name == "unknown"):
        return True
    if isinstance(wanted, NullableType):
        return assignable(given.inner if isinstance(given, NullableType) else given, wanted.inner)
    return isinstance(given, ArrayType) and isinstance(wanted, ArrayType) and assignable(given.element, wanted.element)


def is_scalar(of: TypeRef) -> bool:
    """Whether the type is one of strings, booleans or numbers, or that and null."""
    inner = of.inner if isinstance(of, NullableType) else of
    return isinstance(inner, PrimitiveType) and inner.name not in {"object", "unknown"}


def is_number(of: TypeRef) -> bool:
    return isinstance(of, PrimitiveType) and (of.name in INTEGER_RANGES or of.name in FLOAT_NAMES)


def fits(value: Scalar, wanted: TypeRef) -> bool:
    """Whether a written scalar is a value of a type. A whole number is also a float; a float is never an integer."""
    if isinstance(wanted, NullableType):
        return value is None or fits(value, wanted.inner)
    return isinstance(wanted, PrimitiveType) and (wanted.name == "unknown" or _fits_primitive(value, wanted.name))


def _fits_primitive(value: Scalar, name: PrimitiveName) -> bool:
    match value:
        case bool():
            return name == "bool"
        case str():
            return name == "string"
        case int() if name in INTEGER_RANGES:
            low, high = INTEGER_RANGES[name]
            return low <= value <= high
        case int() | float() if name in FLOAT_NAMES:
            return name != "f32" or _fits_f32(float(value))
        case _:
            return False


def _fits_f32(number: float) -> bool:
    try:
        return math.isfinite(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return False
