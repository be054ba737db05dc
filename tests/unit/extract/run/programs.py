"""Programs for tests, written as short calls: what a runtime gets, without a compiler in between."""

from collections.abc import Callable
from typing import Any, Literal

from comity.extract.ir.program import (
    AttributeValue,
    BuiltinTarget,
    Click,
    DeclaredTarget,
    ExternalTransform,
    Extractor,
    Fetch,
    FieldSelection,
    HtmlValue,
    Input,
    JavaScriptValue,
    LiteralSegment,
    MatchCase,
    MatchTransform,
    NamedArgument,
    OutputCollection,
    OutputField,
    OutputObject,
    PipelineTransform,
    Source,
    SourceFile,
    Template,
    TextValue,
    Transform,
    TransformCall,
    ValueSource,
)
from comity.extract.ir.scalars import ABSENT, Absent, Scalar
from comity.extract.ir.spans import Position, Span
from comity.extract.ir.types import STRING, ArrayType, TypeRef, nullable, primitive
from comity.extract.run import Failure, Program, Result, SnapshotOptions

SPAN = Span("test.kdl", Position(0, 1, 1), Position(0, 1, 1))
OutputMember = OutputField | OutputCollection


def type_of(text: str) -> TypeRef:
    if text.endswith("?"):
        return nullable(type_of(text[:-1]))
    return ArrayType("array", type_of(text[:-2])) if text.endswith("[]") else primitive(text)  # type: ignore[arg-type]


def apply(
    name: str, /, *values: Scalar, given: str = "string", gives: str = "string", **named: Scalar
) -> TransformCall:
    """`apply "name" values… named…`; a name with a dot or a hash is a declared transform's."""
    return TransformCall(
        target=DeclaredTarget(kind="declared", symbol_id=name)
        if "#" in name
        else BuiltinTarget(kind="builtin", name=name),
        positional_arguments=values,
        named_arguments=tuple(
            NamedArgument(name=key.rstrip("_").replace("_", "-"), value=value) for key, value in named.items()
        ),
        input=type_of(given),
        output=type_of(gives),
        span=SPAN,
    )


def field(
    name: str,
    select: str | None,
    *calls: TransformCall,
    type_: str = "string",
    value: str = "text",
    required: bool = True,
    default: Scalar | Absent = ABSENT,
    on_error: Literal["fail", "null", "warn", "default"] | None = None,
    match: Literal["one", "first"] = "one",
) -> OutputField:
    """`value` is text, html, js or the name of an attribute behind an @."""
    successful = type_of(type_)
    return OutputField(
        kind="field",
        id=f"output.{name}",
        name=name,
        successful_type=successful,
        effective_type=successful if required or default is not ABSENT else nullable(successful),
        required=required,
        default=default,
        selection=None if select is None else FieldSelection(selector=select, match=match, span=SPAN),
        value_source=_source(value),
        transforms=calls,
        on_error=on_error or ("fail" if required else "null"),
        span=SPAN,
    )


def _source(value: str) -> ValueSource:
    if value.startswith("@"):
        return AttributeValue(kind="attribute", name=value[1:], raw_type=STRING, span=SPAN)
    if value == "js":
        return JavaScriptValue(kind="javascript", scope="document", source="() => 1", returns=STRING, span=SPAN)
    if value == "html":
        return HtmlValue(kind="html", raw_type=STRING, span=SPAN)
    return TextValue(kind="text", raw_type=STRING, span=SPAN)


def collection(
    name: str,
    select: str,
    *members: OutputMember,
    required: bool = False,
    min_items: int = 0,
    max_items: int | None = None,
    on_row_error: Literal["fail", "skip"] = "fail",
) -> OutputCollection:
    return OutputCollection(
        kind="collection",
        id=f"output.{name}",
        name=name,
        selector=select,
        required=required,
        min_items=min_items,
        max_items=max_items,
        on_row_error=on_row_error,
        row=OutputObject(kind="object", members=members),
        span=SPAN,
    )


def pipeline(name: str, *calls: TransformCall, gives: str = "string") -> Transform:
    return PipelineTransform(
        kind="pipeline", symbol_id=f"#{name}", name=name, origin="local",
        input=STRING, output=type_of(gives), span=SPAN, calls=calls,
    )  # fmt: skip


def matching(name: str, cases: dict[Scalar, Scalar], default: Scalar, gives: str = "string") -> Transform:
    made = tuple(MatchCase(when=when, then=then, span=SPAN) for when, then in cases.items())
    return MatchTransform(
        kind="match", symbol_id=f"#{name}", name=name, origin="local",
        input=STRING, output=type_of(gives), span=SPAN, cases=made, default=default,
    )  # fmt: skip


def external(name: str, gives: str = "string") -> Transform:
    return ExternalTransform(
        kind="external", symbol_id=f"#{name}", name=name, origin="local",
        input=STRING, output=type_of(gives), span=SPAN, symbol=name,
    )  # fmt: skip


def extractor(
    *members: OutputMember, transforms: tuple[Transform, ...] = (), inputs: tuple[Input, ...] = (), clicks: bool = False
) -> Extractor:
    url = Template(
        raw="https://site.example/", segments=(LiteralSegment(kind="literal", value="https://site.example/"),)
    )
    return Extractor(
        kind="extractor",
        ir_version="2026-07-15",
        language_version="2026-07-15",
        name="test",
        version="2026-01-01",
        files=(SourceFile(path="test.kdl", sha256="0" * 64),),
        source=Source(
            kind="html",
            fetch=Fetch(mode="browser" if clicks else "http", url_template=url, span=SPAN),
            session_policy="none",
            workflow=(Click(kind="click", selector="a", span=SPAN),) if clicks else (),
            span=SPAN,
        ),
        inputs=inputs,
        transforms=transforms,
        output=OutputObject(kind="object", members=members),
        capabilities=("http.fetch",),
        span=SPAN,
    )


def program(*members: OutputMember, transforms: tuple[Transform, ...] = (), inputs: tuple[Input, ...] = ()) -> Program:
    prepared = Program.prepare(extractor(*members, transforms=transforms, inputs=inputs))
    assert isinstance(prepared, Program), prepared
    return prepared


def result(html: bytes | str, *members: OutputMember, transforms: tuple[Transform, ...] = (), **options: Any) -> Result:
    """The result of a page that must give one."""
    found = program(*members, transforms=transforms).extract_snapshot(html, None, SnapshotOptions(**options))
    assert isinstance(found, Result), found
    return found


def failure(
    html: bytes | str, *members: OutputMember, transforms: tuple[Transform, ...] = (), **options: Any
) -> Failure:
    """The failure of a page that must give none."""
    found = program(*members, transforms=transforms).extract_snapshot(html, None, SnapshotOptions(**options))
    assert isinstance(found, Failure), found
    return found


HostFunctions = dict[str, Callable[[Any], Any]]
