"""A Parquet table with columns of a program's own types."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from comity.cli.extraction.export import ROWS_AT_ONCE
from comity.extract.ir.program import OutputCollection, OutputMember, OutputObject
from comity.extract.ir.types import ArrayType, NullableType, TypeRef

ABOUT = {
    "_page_id": pa.string(),
    "_url": pa.string(),
    "_final_url": pa.string(),
    "_depth": pa.int32(),
    "_captured_at": pa.timestamp("ms", tz="UTC"),
    "_version": pa.int32(),
    "_partial": pa.bool_(),
}
ERROR = {"_error_code": pa.string(), "_error_message": pa.string()}
PRIMITIVES = {
    "string": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    **{f"u{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
    **{f"i{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    # What is no one type is JSON text.
    "object": pa.string(),
    "unknown": pa.string(),
}


class ParquetTable:
    """Writes row groups as lines come. Every column may be null: a page that failed has no value."""

    def __init__(self, to: IO[bytes], members: Sequence[tuple[str, OutputMember]]) -> None:
        self._members = dict(members)
        columns = {**ABOUT, **{name: _of_member(member) for name, member in members}, **ERROR}
        self._schema = pa.schema([pa.field(name, kind) for name, kind in columns.items()])
        self._writer = pq.ParquetWriter(to, self._schema)
        self._lines: list[dict[str, Any]] = []

    def write(self, line: dict[str, Any]) -> None:
        """See `TableWriter`."""
        ready = {name: _value(member, line.get(name)) for name, member in self._members.items()}
        at = line.get("_captured_at")
        ready["_captured_at"] = datetime.fromisoformat(at) if at is not None else None
        self._lines.append({**line, **ready})
        if len(self._lines) == ROWS_AT_ONCE:
            self._flush()

    def end(self) -> None:
        """See `TableWriter`."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._lines:
            self._writer.write_table(pa.Table.from_pylist(self._lines, schema=self._schema))
            self._lines.clear()


def _of_member(member: OutputMember) -> Any:
    if isinstance(member, OutputCollection):
        return pa.list_(_of_object(member.row))
    return _of_type(member.effective_type)


def _of_object(described: OutputObject) -> Any:
    return pa.struct([pa.field(one.name, _of_member(one)) for one in described.members])


def _of_type(of: TypeRef) -> Any:
    match of:
        case ArrayType():
            return pa.list_(_of_type(of.element))
        case NullableType():
            return _of_type(of.inner)
    return PRIMITIVES[of.name]


def _value(member: OutputMember, value: Any) -> Any:
    """The value as its column takes it: what is no one type as JSON text."""
    if value is None:
        return None
    if isinstance(member, OutputCollection):
        return [{one.name: _value(one, row.get(one.name)) for one in member.row.members} for row in value]
    return _typed(member.effective_type, value)


def _typed(of: TypeRef, value: Any) -> Any:
    match of:
        case _ if value is None:
            return None
        case ArrayType():
            return [_typed(of.element, one) for one in value]
        case NullableType():
            return _typed(of.inner, value)
    return json.dumps(value, ensure_ascii=False) if of.name in ("object", "unknown") else value
