"""Programs as JSON: plain data, and the one text that every writer of the same program writes.

Canonical JSON sorts keys by code point, keeps integers exact, writes other numbers as plain decimals (no exponent,
no trailing zeros, no negative zero) and escapes only what JSON demands. This is not RFC 8785, whose numbers may have
exponents and whose keys sort by UTF-16.
"""

import json
from dataclasses import Field, fields, is_dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from pydantic.alias_generators import to_camel

from comity.extract.ir.scalars import ABSENT


def plain(value: Any) -> Any:
    """An IR value as plain JSON data: dicts with camelCase keys, lists, scalars. What is absent is left out."""
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    shown: dict[str, Any] = {}
    for member, name in _members(type(value)):
        held = getattr(value, member.name)
        if held is ABSENT or (held is None and member.default is None):
            continue
        shown[name] = plain(held)
    return shown


@cache
def _members(of: type) -> tuple[tuple[Field[Any], str], ...]:
    return tuple((member, to_camel(member.name)) for member in fields(of))


def canonical_json(data: Any) -> str:
    """Plain JSON data as canonical text, without a final newline. Non-finite numbers are a ValueError."""
    match data:
        case None | bool() | int():
            return json.dumps(data)
        case float():
            return plain_decimal(data)
        case str():
            return json.dumps(data, ensure_ascii=False)
        case list() | tuple():
            return "[" + ",".join(canonical_json(one) for one in data) + "]"
        case dict():
            members = (f"{canonical_json(key)}:{canonical_json(data[key])}" for key in sorted(data))
            return "{" + ",".join(members) + "}"
        case _:
            raise TypeError(f"{type(data).__name__} is not JSON data")


def plain_decimal(number: float) -> str:
    """The shortest decimal that reads back as the same binary64, without an exponent; -0 is 0."""
    decimal = Decimal(repr(number))
    if not decimal.is_finite():
        raise ValueError(f"{number} is not a finite number: JSON has no way to write it")
    if decimal == 0:
        return "0"
    text = format(decimal, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
