"""The JSON Schema (draft 2020-12) of what a program gives, so that whoever takes its results knows their types."""

from typing import Any

from comity.extract.ir.program import Extractor, OutputCollection, OutputMember, OutputObject
from comity.extract.ir.types import INTEGER_RANGES, ArrayType, NullableType, PrimitiveType, TypeRef

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MOST_F32 = 3.4028234663852886e38
Schema = dict[str, Any]

_PRIMITIVES: dict[str, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "f64": {"type": "number"},
    "f32": {"type": "number", "minimum": -MOST_F32, "maximum": MOST_F32},
    "object": {"type": "object"},
    "unknown": {},
}
_WARNING: Schema = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "pattern": "^W_[A-Z_]+$"},
        "message": {"type": "string"},
        "path": {"type": "string"},
        "row": {"type": "integer", "minimum": 0},
    },
    "required": ["code", "message"],
    "additionalProperties": False,
}


def result_schema(extractor: Extractor) -> Schema:
    """The schema of `Result.plain()`: `{value, warnings, partial}`. `#/$defs/value` is the value's own."""
    return {
        "$schema": DIALECT,
        "title": f"{extractor.name} {extractor.version}",
        "type": "object",
        "properties": {
            "value": {"$ref": "#/$defs/value"},
            "warnings": {"type": "array", "items": {"$ref": "#/$defs/warning"}},
            "partial": {"type": "boolean"},
        },
        "required": ["value", "warnings", "partial"],
        "additionalProperties": False,
        "$defs": {"value": _object(extractor.output), "warning": _WARNING},
    }


def type_schema(of: TypeRef) -> Schema:
    """The schema of one type's values."""
    match of:
        case ArrayType():
            return {"type": "array", "items": type_schema(of.element)}
        case NullableType():
            inner = type_schema(of.inner)
            if "type" not in inner:  # `unknown` admits null already
                return inner
            return {**inner, "type": [inner["type"], "null"]}
        case PrimitiveType() if of.name in INTEGER_RANGES:
            least, most = INTEGER_RANGES[of.name]
            return {"type": "integer", "minimum": least, "maximum": most}
        case PrimitiveType():
            return dict(_PRIMITIVES[of.name])


def _object(described: OutputObject) -> Schema:
    return {
        "type": "object",
        "properties": {one.name: _member(one) for one in described.members},
        "required": [one.name for one in described.members],
        "additionalProperties": False,
    }


def _member(member: OutputMember) -> Schema:
    if not isinstance(member, OutputCollection):
        return type_schema(member.effective_type)
    schema: Schema = {"type": "array", "items": _object(member.row)}
    least = max(member.min_items, int(member.required))
    if least:
        schema["minItems"] = least
    if member.max_items is not None:
        schema["maxItems"] = member.max_items
    return schema
