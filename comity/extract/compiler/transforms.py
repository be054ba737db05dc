"""Declared transforms and the calls of all transforms: names, types, arguments."""

from dataclasses import dataclass, field
from typing import Literal, TypedDict

from comity.extract.compiler.builtins import BUILTINS, accepts, call_fault, output_of
from comity.extract.compiler.diagnostics import Findings
from comity.extract.compiler.graph import MEMBER_NAME, SourceDocument
from comity.extract.compiler.shapes import PropertyKind, Shape, check_shape, is_kind, text_argument, text_property
from comity.extract.compiler.type_expressions import assignable, fits, is_scalar, read_type
from comity.extract.ir.program import (
    BuiltinTarget,
    DeclaredTarget,
    ExternalTransform,
    MatchCase,
    MatchTransform,
    NamedArgument,
    PipelineTransform,
    Transform,
    TransformCall,
)
from comity.extract.ir.references import recursive_transforms
from comity.extract.ir.scalars import Scalar
from comity.extract.ir.spans import Span
from comity.extract.ir.types import STRING, TypeRef
from comity.extract.kdl.tree import Node

_TRANSFORM = Shape((1, 1), {"input": "string", "output": "string"}, children=True)
_BODIES = ("pipeline", "match", "external")


class _Members(TypedDict):
    symbol_id: str
    name: str
    origin: Literal["local", "imported"]
    input: TypeRef
    output: TypeRef
    span: Span


@dataclass(frozen=True, slots=True)
class Declaration:
    """A transform by its name and types, its body not yet looked at."""

    document: SourceDocument
    node: Node
    name: str
    input: TypeRef
    output: TypeRef

    @property
    def symbol_id(self) -> str:
        return f"{self.document.source.file}#transform:{self.name}"


@dataclass(slots=True)
class Transforms:
    """Every transform of a program's files. `declare` all files first, then compile."""

    findings: Findings
    entry: SourceDocument
    _declared: dict[str, dict[str, Declaration]] = field(default_factory=dict)

    def declare(self, document: SourceDocument) -> None:
        known: dict[str, Declaration] = {}
        for node in document.root.children:
            if node.name == "transform":
                declaration = self._declaration(document, node, known)
                if declaration is not None:
                    known[declaration.name] = declaration
        self._declared[document.source.file] = known

    def _declaration(self, document: SourceDocument, node: Node, known: dict[str, Declaration]) -> Declaration | None:
        name = text_argument(node)
        path = f"transforms.{name}" if name else "transforms"
        check_shape(self.findings, document.source, node, _TRANSFORM, path)
        if name is None or not MEMBER_NAME.fullmatch(name):
            if node.arguments and name in BUILTINS:
                self._shadows(document, node, str(name), path)
            elif node.arguments:
                message = "a transform's name has lower-case letters, digits and _, and begins with a letter"
                self.findings.error(document.source, "E_IDENTIFIER_INVALID", message, node, path)
            return None
        if name in BUILTINS:
            self._shadows(document, node, name, path)
            return None
        if name in known:
            message = f"there are two transforms {name}: give one of them another name"
            self.findings.error(document.source, "E_DUPLICATE_SYMBOL", message, node, path)
            return None
        types = [self._type(document, node, label, path) for label in ("input", "output")]
        if types[0] is None or types[1] is None:
            return None
        return Declaration(document, node, name, types[0], types[1])

    def _shadows(self, document: SourceDocument, node: Node, name: str, path: str) -> None:
        message = f"{name} is built in: give this transform another name"
        self.findings.error(document.source, "E_TRANSFORM_SHADOWS_BUILTIN", message, node, path)

    def _type(self, document: SourceDocument, node: Node, label: str, path: str) -> TypeRef | None:
        written = text_property(node, label)
        read = f'transform needs {label}="type"' if written is None else read_type(written)
        if isinstance(read, str):
            self.findings.error(document.source, "E_TYPE_UNKNOWN", read, node, f"{path}.{label}")
            return None
        return read

    def compile(self) -> tuple[Transform, ...]:
        """Every declared transform that is right: those of imported files by the files' names, then the entry's own."""
        compiled: list[Transform] = []
        files = sorted(self._declared.items(), key=lambda item: (item[0] == self.entry.source.file, item[0]))
        for _, known in files:
            for declaration in known.values():
                one = self._compile(declaration)
                if one is not None:
                    compiled.append(one)
        self._check_recursion(compiled)
        return tuple(compiled)

    def _compile(self, declaration: Declaration) -> Transform | None:
        path = f"transforms.{declaration.name}"
        source, node = declaration.document.source, declaration.node
        bodies = [child for child in node.children if child.name in _BODIES]
        for child in node.children:
            if child.name not in _BODIES:
                message = f"a transform has a pipeline, a match or an external, not {child.name}"
                self.findings.error(source, "E_UNKNOWN_NODE", message, child, path)
        if len(bodies) != 1:
            message = f"a transform has one pipeline, match or external, not {len(bodies)}"
            self.findings.error(source, "E_ARGUMENT_COUNT", message, node, path)
            return None
        match bodies[0].name:
            case "pipeline":
                return self._pipeline(declaration, bodies[0], f"{path}.pipeline")
            case "match":
                return self._match(declaration, bodies[0], f"{path}.match")
            case _:
                return self._external(declaration, bodies[0], f"{path}.external")

    def _members(self, declaration: Declaration) -> "_Members":
        """What all kinds of transforms have."""
        return {
            "symbol_id": declaration.symbol_id,
            "name": declaration.name,
            "origin": "local" if declaration.document is self.entry else "imported",
            "input": declaration.input,
            "output": declaration.output,
            "span": declaration.document.source.locator.span(declaration.node.start, declaration.node.end),
        }

    def _pipeline(self, declaration: Declaration, body: Node, path: str) -> PipelineTransform | None:
        source = declaration.document.source
        check_shape(self.findings, source, body, Shape(children=True), path)
        applies = [child for child in body.children if child.name == "apply"]
        for child in body.children:
            if child.name != "apply":
                self.findings.error(source, "E_UNKNOWN_NODE", f"a pipeline has apply, not {child.name}", child, path)
        if not applies:
            self.findings.error(source, "E_ARGUMENT_COUNT", 'a pipeline needs an apply "…"', body, path)
            return None
        calls, ends_in = self.calls(declaration.document, applies, declaration.input, f"{path}.calls")
        if ends_in is not None and not assignable(ends_in, declaration.output):
            message = f"the pipeline ends in {ends_in}, but the transform's output is {declaration.output}"
            self.findings.error(source, "E_TRANSFORM_TYPE_MISMATCH", message, body, path)
        return PipelineTransform(kind="pipeline", calls=calls, **self._members(declaration)) if calls else None

    def _match(self, declaration: Declaration, body: Node, path: str) -> MatchTransform | None:
        source = declaration.document.source
        check_shape(self.findings, source, body, Shape(children=True), path)
        for label, of in (("input", declaration.input), ("output", declaration.output)):
            if not is_scalar(of):
                message = f"a match compares scalars: its {label} cannot be {of}"
                self.findings.error(source, "E_TRANSFORM_TYPE_MISMATCH", message, body, path)
        cases: list[MatchCase] = []
        seen: set[tuple[bool, Scalar]] = set()
        defaults: list[Node] = []
        for child in body.children:
            if child.name == "default":
                check_shape(self.findings, source, child, Shape((1, 1)), path)
                defaults.append(child)
                self._check_scalar(declaration, child, 0, declaration.output, path)
            elif child.name == "case":
                check_shape(self.findings, source, child, Shape((2, 2)), path)
                if len(child.arguments) != 2:
                    continue
                when, then = (argument.scalar for argument in child.arguments)
                self._check_scalar(declaration, child, 0, declaration.input, path)
                self._check_scalar(declaration, child, 1, declaration.output, path)
                if (isinstance(when, bool), when) in seen:
                    message = f"there is a case for {when!r} already: keep one of them"
                    self.findings.error(source, "E_MATCH_DUPLICATE_CASE", message, child, path)
                seen.add((isinstance(when, bool), when))
                cases.append(MatchCase(when=when, then=then, span=source.locator.span(child.start, child.end)))
            else:
                message = f"a match has cases and a default, not {child.name}"
                self.findings.error(source, "E_UNKNOWN_NODE", message, child, path)
        if len(defaults) != 1 or not defaults[0].arguments:
            if len(defaults) != 1:
                message = f"a match has one default, not {len(defaults)}"
                self.findings.error(source, "E_MATCH_DEFAULT", message, body, path)
            return None
        return MatchTransform(
            kind="match",
            cases=tuple(cases),
            default=defaults[0].arguments[0].scalar,
            **self._members(declaration),
        )

    def _check_scalar(self, declaration: Declaration, node: Node, index: int, wanted: TypeRef, path: str) -> None:
        if index < len(node.arguments) and not fits(node.arguments[index].scalar, wanted) and is_scalar(wanted):
            message = f"this must be a {wanted}"
            self.findings.error(declaration.document.source, "E_TYPE_MISMATCH", message, node.arguments[index], path)

    def _external(self, declaration: Declaration, body: Node, path: str) -> ExternalTransform | None:
        check_shape(self.findings, declaration.document.source, body, Shape(properties={"symbol": "string"}), path)
        symbol = text_property(body, "symbol")
        if not symbol:
            message = 'an external transform names a function of the host: external symbol="…"'
            self.findings.error(declaration.document.source, "E_EXTERNAL_TRANSFORM_MISSING", message, body, path)
            return None
        return ExternalTransform(kind="external", symbol=symbol, **self._members(declaration))

    def calls(
        self, document: SourceDocument, applies: list[Node], given: TypeRef | None, path: str
    ) -> tuple[tuple[TransformCall, ...], TypeRef | None]:
        """A chain of calls, and the type that it ends in. A type of None is one that an earlier mistake hides."""
        compiled: list[TransformCall] = []
        for index, node in enumerate(applies):
            call, given = self._call(document, node, given, f"{path}[{index}]")
            if call is not None:
                compiled.append(call)
        return tuple(compiled), given

    def _call(
        self, document: SourceDocument, node: Node, given: TypeRef | None, path: str
    ) -> tuple[TransformCall | None, TypeRef | None]:
        source = document.source
        name = text_argument(node)
        if name in BUILTINS:
            return self._builtin_call(document, node, str(name), given, path)
        check_shape(self.findings, source, node, Shape((1, None), _any_properties(node)), path)
        declared = self._resolve(document, name) if name is not None else None
        if declared is None:
            if node.arguments:
                message = f"there is no transform {name!r}: it is neither built in nor declared"
                self.findings.error(source, "E_TRANSFORM_UNKNOWN", message, node, path)
            return None, None
        if len(node.arguments) > 1 or node.properties:
            message = f"{name} takes no arguments and no properties: only built-in transforms do"
            self.findings.error(source, "E_TRANSFORM_ARGUMENT", message, node, path)
        if given is not None and not assignable(given, declared.input):
            message = f"{name} takes {declared.input}, not {given}"
            self.findings.error(source, "E_TRANSFORM_TYPE_MISMATCH", message, node, path)
        call = TransformCall(
            target=DeclaredTarget(kind="declared", symbol_id=declared.symbol_id),
            positional_arguments=(),
            named_arguments=(),
            input=declared.input if given is None else given,
            output=declared.output,
            span=source.locator.span(node.start, node.end),
        )
        return call, declared.output

    def _resolve(self, document: SourceDocument, reference: str) -> Declaration | None:
        alias, dot, name = reference.partition(".")
        if not dot:
            return self._declared[document.source.file].get(reference)
        imported = document.imports.get(alias)
        return None if imported is None else self._declared[imported.source.file].get(name)

    def _builtin_call(
        self, document: SourceDocument, node: Node, name: str, given: TypeRef | None, path: str
    ) -> tuple[TransformCall | None, TypeRef | None]:
        source, builtin = document.source, BUILTINS[name]
        check_shape(self.findings, source, node, Shape((1, None), _any_properties(node)), path)
        values = tuple(argument.scalar for argument in node.arguments[1:])
        properties = {one.name: one.value.scalar for one in node.properties}
        fault = self._argument_fault(name, values, properties)
        if fault is not None:
            self.findings.error(source, "E_TRANSFORM_ARGUMENT", fault, node, path)
        if given is not None and not accepts(builtin, given):
            message = f"{name} takes a {builtin.input.replace('-', ' ')}, not {given}"
            self.findings.error(source, "E_TRANSFORM_TYPE_MISMATCH", message, node, path)
            given = None
        elif given is not None and fault is None:
            wrong = call_fault(name, given, values, properties)
            if wrong is not None:
                self.findings.error(source, wrong.code, wrong.message, node, path)
        if given is None and builtin.output in {"same", "inner"}:
            return None, None
        output = output_of(builtin, given or STRING, properties)
        call = TransformCall(
            target=BuiltinTarget(kind="builtin", name=name),
            positional_arguments=values,
            named_arguments=tuple(NamedArgument(name=key, value=value) for key, value in properties.items()),
            input=given or STRING,
            output=output,
            span=source.locator.span(node.start, node.end),
        )
        return call, output

    def _argument_fault(self, name: str, values: tuple[Scalar, ...], properties: dict[str, Scalar]) -> str | None:
        builtin = BUILTINS[name]
        if bool(values) is not builtin.values:
            return f"{name} takes {'one value or more' if builtin.values else 'no values'} after its name"
        for key, value in properties.items():
            kind = builtin.properties.get(key)
            if kind is None:
                return f"{name} has no property {key}: it has {', '.join(builtin.properties) or 'none'}"
            if not is_kind(value, kind):
                return f"{name}: {key}= must be a {kind}" if kind != "count" else f"{name}: {key}= counts from 0 up"
        return None

    def _check_recursion(self, compiled: list[Transform]) -> None:
        """Says of every transform that comes back to itself that it would never end."""
        endless = recursive_transforms(tuple(compiled))
        for known in self._declared.values():
            for declaration in known.values():
                if declaration.symbol_id in endless:
                    message = f"{declaration.name} calls itself, by way of others or not: it would never end"
                    path = f"transforms.{declaration.name}"
                    self.findings.error(
                        declaration.document.source, "E_TRANSFORM_RECURSION", message, declaration.node, path
                    )


def _any_properties(node: Node) -> dict[str, PropertyKind]:
    """Lets every property pass: those of a call are told of as arguments of the transform."""
    return {one.name: "scalar" for one in node.properties}
