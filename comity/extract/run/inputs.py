"""The values that a caller gives for a program's inputs."""

from collections.abc import Mapping
from typing import Any

from comity.extract.ir.program import Input
from comity.extract.ir.scalars import ABSENT, Scalar
from comity.extract.ir.types import primitive
from comity.extract.run.failures import RunError
from comity.extract.run.values import MismatchError, checker


def resolve_inputs(
    declared: tuple[Input, ...], given: Mapping[str, Any], *, all_needed: bool = True
) -> dict[str, Scalar]:
    """Every input that has a value, in source order. Raises RunError with one of the E_INPUT codes.

    `all_needed` off: those that are given are checked, and nobody asks for the others.
    """
    known = {one.name for one in declared}
    for name in given:
        if name not in known:
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise RunError("E_INPUT_UNKNOWN", f"the program has no input {name!r}; {has}", f"inputs.{name}")
    values: dict[str, Scalar] = {}
    for one in declared:
        path = f"inputs.{one.name}"
        if one.name in given:
            values[one.name] = _checked(one, given[one.name], "E_INPUT_TYPE", path)
        elif one.required and all_needed:
            raise RunError("E_INPUT_REQUIRED", f"the input {one.name!r} ({one.type}) is required; give it", path)
        elif not one.required and one.default is not ABSENT:
            values[one.name] = _checked(one, one.default, "E_INPUT_DEFAULT", path)
    return values


def _checked(declared: Input, value: Any, code: str, path: str) -> Scalar:
    try:
        scalar: Scalar = checker(primitive(declared.type))(value)
    except MismatchError as error:
        raise RunError(code, f"the input {declared.name!r}: {error}", path) from None
    return scalar
