"""The program as frozen values, one class for each kind of node in the IR's JSON Schema.

Sequences are tuples in source order. `None` on an optional member means that it is not there; where null itself is a
value (a default), absence is `ABSENT`.
"""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from comity.extract.ir.scalars import ABSENT, Absent, Scalar
from comity.extract.ir.spans import IR_CONFIG, Span
from comity.extract.ir.types import PrimitiveType, TypeRef

VERSION: Final = "2026-07-15"
"""Version of the language and of the IR."""
MAX_TIMEOUT_MS = 9_223_372_036_854


def _real_date(text: str) -> str:
    date.fromisoformat(text)
    return text


def _string_type(of: PrimitiveType) -> PrimitiveType:
    if of.name != "string":
        raise ValueError("must be the string type")
    return of


ProgramName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*\z")]
MemberName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\z")]
DocumentVersion = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z"), AfterValidator(_real_date)]
TimeoutMs = Annotated[int, Field(ge=1, le=MAX_TIMEOUT_MS)]
Count = Annotated[int, Field(ge=0)]
StringType = Annotated[PrimitiveType, AfterValidator(_string_type)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that the program was compiled from; module name and version are there for imported files only."""

    __pydantic_config__ = IR_CONFIG
    path: Annotated[str, Field(min_length=1)]
    module_name: ProgramName | None = None
    module_version: DocumentVersion | None = None
    sha256: Annotated[str, Field(pattern=r"^[a-f0-9]{64}\z")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralSegment:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["literal"]
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSegment:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["input"]
    name: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A URL with places for inputs. `raw` is what was written; braces in literal segments are unescaped."""

    __pydantic_config__ = IR_CONFIG
    raw: str
    segments: tuple[Annotated[LiteralSegment | InputSegment, Field(discriminator="kind")], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    __pydantic_config__ = IR_CONFIG
    mode: Literal["http", "browser"]
    url_template: Template
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFor:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["wait-for"]
    selector: str
    state: Literal["attached", "visible", "hidden", "detached"]
    timeout_ms: TimeoutMs | None = None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["click"]
    selector: str
    timeout_ms: TimeoutMs | None = None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["fill"]
    selector: str
    value: str
    timeout_ms: TimeoutMs | None = None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["press"]
    selector: str
    key: str
    timeout_ms: TimeoutMs | None = None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Scroll:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["scroll"]
    x: int | float
    y: int | float
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForNetworkIdle:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["wait-for-network-idle"]
    idle_ms: TimeoutMs
    timeout_ms: TimeoutMs | None = None
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateJs:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["evaluate-js"]
    source: str
    timeout_ms: TimeoutMs | None = None
    span: Span


WorkflowStep = Annotated[
    WaitFor | Click | Fill | Press | Scroll | WaitForNetworkIdle | EvaluateJs, Field(discriminator="kind")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["html"]
    fetch: Fetch
    session_policy: Literal["none", "optional", "required"]
    workflow: tuple[WorkflowStep, ...]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    __pydantic_config__ = IR_CONFIG
    name: MemberName
    type: Literal["string", "bool", "int", "float"]
    required: bool
    default: Scalar | Absent = ABSENT
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSelection:
    __pydantic_config__ = IR_CONFIG
    selector: str
    match: Literal["one", "first"]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class TextValue:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["text"]
    raw_type: StringType
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlValue:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["html"]
    raw_type: StringType
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeValue:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["attribute"]
    name: str
    raw_type: StringType
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaScriptValue:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["javascript"]
    scope: Literal["document", "current"]
    source: str
    returns: TypeRef
    timeout_ms: TimeoutMs | None = None
    span: Span


ValueSource = Annotated[TextValue | HtmlValue | AttributeValue | JavaScriptValue, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinTarget:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["builtin"]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTarget:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["declared"]
    symbol_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArgument:
    __pydantic_config__ = IR_CONFIG
    name: str
    value: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformCall:
    """One `apply`. `input` and `output` are the types at this place of the chain."""

    __pydantic_config__ = IR_CONFIG
    target: Annotated[BuiltinTarget | DeclaredTarget, Field(discriminator="kind")]
    positional_arguments: tuple[Scalar, ...]
    named_arguments: tuple[NamedArgument, ...]
    input: TypeRef
    output: TypeRef
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchCase:
    __pydantic_config__ = IR_CONFIG
    when: Scalar
    then: Scalar
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared:
    symbol_id: str
    name: str
    origin: Literal["local", "imported"]
    input: TypeRef
    output: TypeRef
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTransform(_Declared):
    __pydantic_config__ = IR_CONFIG
    kind: Literal["pipeline"]
    calls: Annotated[tuple[TransformCall, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTransform(_Declared):
    __pydantic_config__ = IR_CONFIG
    kind: Literal["match"]
    cases: tuple[MatchCase, ...]
    default: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalTransform(_Declared):
    __pydantic_config__ = IR_CONFIG
    kind: Literal["external"]
    symbol: str


Transform = Annotated[PipelineTransform | MatchTransform | ExternalTransform, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputField:
    """`successful_type` is what the transforms end in; `effective_type` is what a caller gets, null included."""

    __pydantic_config__ = IR_CONFIG
    kind: Literal["field"]
    id: str
    name: str
    successful_type: TypeRef
    effective_type: TypeRef
    required: bool
    default: Scalar | Absent = ABSENT
    selection: FieldSelection | None = None
    value_source: ValueSource
    transforms: tuple[TransformCall, ...]
    on_error: Literal["fail", "null", "warn", "default"]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCollection:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["collection"]
    id: str
    name: str
    selector: str
    required: bool
    min_items: Count
    max_items: Count | None = None
    on_row_error: Literal["fail", "skip"]
    row: "OutputObject"
    span: Span


OutputMember = Annotated[OutputField | OutputCollection, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputObject:
    __pydantic_config__ = IR_CONFIG
    kind: Literal["object"]
    members: tuple[OutputMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """A whole program, checked. Nothing in it refers to a name that it does not hold."""

    __pydantic_config__ = IR_CONFIG
    kind: Literal["extractor"]
    ir_version: Literal["2026-07-15"]
    language_version: Literal["2026-07-15"]
    name: ProgramName
    version: DocumentVersion
    files: Annotated[tuple[SourceFile, ...], Field(min_length=1)]
    source: Source
    inputs: tuple[Input, ...]
    transforms: tuple[Transform, ...]
    output: OutputObject
    capabilities: Annotated[tuple[str, ...], Field(min_length=1)]
    span: Span
