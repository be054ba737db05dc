"""The 26 built-in transforms: what they take, what they give, and the properties of their calls."""

from dataclasses import dataclass
from typing import Literal, cast

from comity.extract.compiler.shapes import PropertyKind
from comity.extract.compiler.type_expressions import fits, is_number, is_scalar
from comity.extract.ir.scalars import Scalar
from comity.extract.ir.types import (
    FLOAT_NAMES,
    INTEGER_RANGES,
    STRING,
    ArrayType,
    NullableType,
    PrimitiveName,
    TypeRef,
    nullable,
    primitive,
)
from comity.extract.profile.patterns import PatternError, compile_pattern
from comity.extract.profile.uri import UriError, parse_uri

Input = Literal["string", "string-array", "scalar", "non-null-scalar", "number", "nullable"]
Output = Literal["string", "string-array", "nullable-string", "bool", "same", "inner", "target"]


@dataclass(frozen=True, slots=True)
class Builtin:
    """`required` are the names of properties that a call must give; `values` says that it takes scalars to compare."""

    input: Input
    output: Output
    properties: dict[str, PropertyKind]
    required: tuple[str, ...] = ()
    values: bool = False


_TEXT = Builtin("string", "string", {})
_VALUE = Builtin("string", "string", {"value": "string"}, ("value",))
_BOUND = Builtin("number", "same", {"value": "number"}, ("value",))
BUILTINS: dict[str, Builtin] = {
    "trim": _TEXT,
    "normalize-whitespace": _TEXT,
    "lowercase": _TEXT,
    "uppercase": _TEXT,
    "replace": Builtin("string", "string", {"old": "string", "new": "string", "count": "count"}, ("old", "new")),
    "regex-replace": Builtin(
        "string",
        "string",
        {"pattern": "string", "replacement": "string", "flags": "string", "count": "count"},
        ("pattern", "replacement"),
    ),
    "regex-capture": Builtin(
        "string", "nullable-string", {"pattern": "string", "group": "count", "flags": "string"}, ("pattern",)
    ),
    "substring": Builtin("string", "string", {"start": "int", "end": "int"}, ("start",)),
    "split": Builtin("string", "string-array", {"separator": "string", "limit": "count"}, ("separator",)),
    "join": Builtin("string-array", "string", {"separator": "string"}, ("separator",)),
    "prepend": _VALUE,
    "append": _VALUE,
    "parse-int": Builtin("string", "target", {"as": "string", "radix": "int"}, ("as",)),
    "parse-float": Builtin("string", "target", {"as": "string"}, ("as",)),
    "parse-bool": Builtin("string", "bool", {"case-sensitive": "bool", "true": "string", "false": "string"}),
    "to-string": Builtin("non-null-scalar", "string", {}),
    "empty-to-null": Builtin("string", "nullable-string", {}),
    "coalesce": Builtin("nullable", "inner", {"value": "scalar"}, ("value",)),
    "url-resolve": Builtin("string", "string", {"base": "string"}, ("base",)),
    "url-query": Builtin("string", "nullable-string", {"name": "string", "index": "count"}, ("name",)),
    "url-path": _TEXT,
    "path-segment": Builtin("string", "nullable-string", {"index": "int"}, ("index",)),
    "assert-matches": Builtin("string", "string", {"pattern": "string", "flags": "string"}, ("pattern",)),
    "assert-enum": Builtin("scalar", "same", {}, values=True),
    "assert-min": _BOUND,
    "assert-max": _BOUND,
}

_FIXED: dict[str, TypeRef] = {
    "string": STRING,
    "string-array": ArrayType("array", STRING),
    "nullable-string": nullable(STRING),
    "bool": primitive("bool"),
}


def accepts(builtin: Builtin, given: TypeRef) -> bool:
    """Whether a built-in takes values of a type."""
    match builtin.input:
        case "string":
            return given == STRING
        case "string-array":
            return given == ArrayType("array", STRING)
        case "scalar":
            return is_scalar(given)
        case "non-null-scalar":
            return is_scalar(given) and not isinstance(given, NullableType)
        case "number":
            return is_number(given)
        case "nullable":
            return isinstance(given, NullableType)


def output_of(builtin: Builtin, given: TypeRef, properties: dict[str, Scalar]) -> TypeRef:
    """The type that a call ends in. `properties` have been checked; a target type that is not known ends in unknown."""
    match builtin.output:
        case "same":
            return given
        case "inner":
            return given.inner if isinstance(given, NullableType) else given
        case "target":
            target = properties.get("as")
            known = target in INTEGER_RANGES or target in FLOAT_NAMES
            return primitive(cast("PrimitiveName", target) if known else "unknown")
        case fixed:
            return _FIXED[fixed]


@dataclass(frozen=True, slots=True)
class CallFault:
    code: str
    message: str


def call_fault(
    name: str, given: TypeRef, values: tuple[Scalar, ...], properties: dict[str, Scalar]
) -> CallFault | None:
    """What is wrong with the values of a call whose shape and input type are right."""
    builtin = BUILTINS[name]
    missing = [one for one in builtin.required if one not in properties]
    if missing:
        return CallFault("E_TRANSFORM_ARGUMENT", f"{name} needs {' and '.join(f'{one}=' for one in missing)}")
    if "pattern" in properties:
        return _regex_fault(name, properties)
    said: str | None = None
    match name:
        case "parse-int" if properties["as"] not in INTEGER_RANGES:
            said = f"as= must be one of {', '.join(INTEGER_RANGES)}"
        case "parse-int" if not 2 <= cast("int", properties.get("radix", 10)) <= 36:
            said = "radix= must be from 2 to 36"
        case "parse-float" if properties["as"] not in FLOAT_NAMES:
            said = f"as= must be one of {', '.join(sorted(FLOAT_NAMES))}"
        case "coalesce" if not fits(properties["value"], output_of(builtin, given, properties)):
            said = f"value= must be a {output_of(builtin, given, properties)}"
        case "assert-min" | "assert-max" if not _comparable(properties["value"], given):
            said = f"value= must be a {given}"
        case "assert-enum" if not all(fits(value, given) for value in values):
            said = f"every value must be a {given}"
        case "url-resolve" if not _is_absolute(cast("str", properties["base"])):
            said = "base= must be an absolute URL, for example https://example.org/"
    return None if said is None else CallFault("E_TRANSFORM_ARGUMENT", f"{name}: {said}")


def _comparable(value: Scalar, given: TypeRef) -> bool:
    return is_number(given) and isinstance(value, int | float) and not isinstance(value, bool)


def _is_absolute(url: str) -> bool:
    try:
        return parse_uri(url).scheme is not None
    except UriError:
        return False


def _regex_fault(name: str, properties: dict[str, Scalar]) -> CallFault | None:
    try:
        regex = compile_pattern(cast("str", properties["pattern"]), cast("str", properties.get("flags", "")))
    except PatternError as error:
        return CallFault("E_REGEX_INVALID", f"{name}: {error}")
    group = cast("int", properties.get("group", 0))
    if group > regex.groups:
        message = f"regex-capture: there is no group {group}: the pattern has {regex.groups}"
        return CallFault("E_TRANSFORM_ARGUMENT", message)
    return None
