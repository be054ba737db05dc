"""The built-in transforms between text and other scalars, and those that check a value and give it back."""

import struct
from math import isfinite
from typing import Any

from comity.extract.ir.canonical import plain_decimal
from comity.extract.ir.types import INTEGER_RANGES
from comity.extract.run.builtins_text import Arguments, Factory, Function
from comity.extract.run.failures import shown, transform_error
from comity.extract.run.values import MismatchError, nearest_f32

MAX_DIGITS = 400
"""Longest text that is read as a number; a longer one is no number that any of the types holds exactly."""
_DECIMAL = frozenset("0123456789+-.eE")


def _parse_int(arguments: Arguments) -> Function:
    name, radix = arguments["as"], arguments.get("radix", 10)
    least, most = INTEGER_RANGES[name]
    accepts_minus = least < 0

    def parse(value: str) -> int:
        digits = value[1:] if value[:1] == "+" or (accepts_minus and value[:1] == "-") else value
        # int() takes signs, underscores, spaces and digits of every script as well: letters and digits only, in ASCII
        if not (digits.isascii() and digits.isalnum()):
            raise transform_error(f"{shown(value)} is not an integer of type {name}")
        try:
            # without leading zeros, so that neither 0b nor 0x is left to be taken for a prefix
            number = int(digits.lstrip("0")[:MAX_DIGITS] or "0", radix)
        except ValueError:
            raise transform_error(f"{shown(value)} is not an integer in base {radix}") from None
        if value[0] == "-":
            number = -number
        if not least <= number <= most:
            raise transform_error(f"{shown(value)} is outside {name}: {least} to {most}")
        return number

    return parse


def _parse_float(arguments: Arguments) -> Function:
    is_f32 = arguments["as"] == "f32"

    def parse(value: str) -> float:
        # float() takes nan, inf, underscores, spaces and digits of every script as well
        if len(value) > MAX_DIGITS or not _DECIMAL.issuperset(value):
            raise transform_error(f"{shown(value)} is not a decimal number")
        try:
            number = float(value)
            if is_f32:
                number = nearest_f32(number) if isfinite(number) else number
        except MismatchError as error:
            raise transform_error(str(error)) from None
        except ValueError:
            raise transform_error(f"{shown(value)} is not a decimal number") from None
        if not isfinite(number):
            raise transform_error(f"{shown(value)} is too large for {arguments['as']}")
        return number

    return parse


def _parse_bool(arguments: Arguments) -> Function:
    yes, no = arguments.get("true", "true"), arguments.get("false", "false")
    exactly = arguments.get("case-sensitive", False)
    if not exactly:
        yes, no = yes.lower(), no.lower()

    def parse(value: str) -> bool:
        compared = value if exactly else value.lower()
        if compared == yes:
            return True
        if compared == no:
            return False
        raise transform_error(f"{shown(value)} is neither {yes!r} nor {no!r}")

    return parse


def to_text(value: Any) -> str:
    """A scalar as the language writes it: `true`, `-1`, `0.5`; numbers in base 10, without an exponent."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return plain_decimal(value)
        case _:
            raise transform_error(f"{shown(value)} has no text of its own; use to-string on scalars only")


def f32_to_text(value: Any) -> str:
    """The shortest decimal that names the same binary32."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", value):
            return plain_decimal(float(text))
    return plain_decimal(value)


def scalar_key(value: Any) -> tuple[str, Any]:
    """A key that is equal for equal scalars of the language: true is not 1, but 1 is 1.0."""
    if isinstance(value, bool) or value is None:
        return "constant", value
    return ("text", value) if isinstance(value, str) else ("number", value)


def assert_enum(allowed: tuple[Any, ...]) -> Function:
    """Arguments of `assert-enum` are positional."""
    keys = frozenset(scalar_key(one) for one in allowed)

    def check(value: Any) -> Any:
        if scalar_key(value) not in keys:
            raise transform_error(f"{shown(value)} is none of {', '.join(shown(one) for one in allowed)[:200]}")
        return value

    return check


def _bound(arguments: Arguments, *, is_least: bool) -> Function:
    bound = arguments["value"]

    def check(value: Any) -> Any:
        if (value < bound) if is_least else (value > bound):
            raise transform_error(f"{value} is {'less' if is_least else 'more'} than {bound}")
        return value

    return check


def _coalesce(arguments: Arguments) -> Function:
    instead = arguments["value"]
    return lambda value: instead if value is None else value


VALUES: dict[str, Factory] = {
    "parse-int": _parse_int,
    "parse-float": _parse_float,
    "parse-bool": _parse_bool,
    "to-string": lambda _: to_text,
    "coalesce": _coalesce,
    "assert-min": lambda arguments: _bound(arguments, is_least=True),
    "assert-max": lambda arguments: _bound(arguments, is_least=False),
}
