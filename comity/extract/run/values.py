"""Whether a value is of a type, exactly: nothing is converted but an integer that a float type holds without loss.

A checker is made once for each type and is called for each value. It returns the value as a caller gets it, or raises
MismatchError. `int` is 64 bits wide; an f32 is the nearest binary32, as a Python float; every float is finite.
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any

from comity.extract.ir.types import FLOAT_NAMES, INTEGER_RANGES, ArrayType, NullableType, TypeRef

Checker = Callable[[Any], Any]
MAX_DEPTH = 200
"""Deepest JSON that a host function may return."""


class MismatchError(ValueError):
    """The value is not of the type; the message says why."""


@lru_cache(maxsize=1024)
def checker(of: TypeRef) -> Checker:
    """The function that checks values against `of`."""
    match of:
        case NullableType():
            inner = checker(of.inner)
            return lambda value: None if value is None else inner(value)
        case ArrayType():
            return _array_checker(checker(of.element), str(of))
    if of.name in INTEGER_RANGES:
        return _integer_checker(of.name)
    if of.name in FLOAT_NAMES:
        return _f32 if of.name == "f32" else _float
    return {"string": _string, "bool": _bool, "object": _object, "unknown": _json}[of.name]


def nearest_f32(value: float) -> float:
    """The binary32 nearest to `value`; MismatchError where that is infinite."""
    try:
        nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise MismatchError(f"{value!r} is too large for f32") from None
    return nearest


def _array_checker(element: Checker, name: str) -> Checker:
    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise MismatchError(f"{_kind(value)} is not {name}")
        return [element(one) for one in value]

    return check


def _integer_checker(name: str) -> Checker:
    least, most = INTEGER_RANGES[name]

    def check(value: Any) -> Any:
        if type(value) is not int:
            raise MismatchError(f"{_kind(value)} is not {name}")
        if not least <= value <= most:
            raise MismatchError(
                f"{value if abs(value) < 10**40 else 'an integer'} is outside {name}: {least} to {most}"
            )
        return value

    return check


def _string(value: Any) -> Any:
    if type(value) is not str:
        raise MismatchError(f"{_kind(value)} is not string")
    return value


def _bool(value: Any) -> Any:
    if type(value) is not bool:
        raise MismatchError(f"{_kind(value)} is not bool")
    return value


def _float(value: Any) -> Any:
    if type(value) is int:
        try:
            converted = float(value)
        except OverflowError:
            raise MismatchError("the integer is too large for float") from None
        if int(converted) != value:
            raise MismatchError(f"{value} is not exact as a float")
        return converted
    if type(value) is not float:
        raise MismatchError(f"{_kind(value)} is not float")
    if not isfinite(value):
        raise MismatchError(f"{value} is not a finite number")
    return value


def _f32(value: Any) -> Any:
    return nearest_f32(_float(value))


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise MismatchError(f"{_kind(value)} is not object")
    return _json(value)


def _json(value: Any, depth: int = 0) -> Any:
    """A copy of JSON data, so that nothing that the host keeps can change a result afterwards."""
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float:
        return _float(value)
    if depth >= MAX_DEPTH:
        raise MismatchError(f"the value is nested more than {MAX_DEPTH} deep, or holds itself")
    if isinstance(value, list | tuple):
        return [_json(one, depth + 1) for one in value]
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: _json(one, depth + 1) for key, one in value.items()}
    raise MismatchError(f"{_kind(value)} is not JSON data")


_KINDS = {str: "a string", bool: "a bool", int: "an integer", float: "a float", list: "an array", dict: "an object"}


def _kind(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), f"a {type(value).__name__}")
