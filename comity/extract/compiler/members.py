"""What comes out: fields and collections, their types and what happens when something is missing or fails."""

from dataclasses import dataclass
from typing import Literal, cast

from comity.extract.compiler.graph import MEMBER_NAME
from comity.extract.compiler.scope import Scope
from comity.extract.compiler.shapes import (
    PropertyKind,
    Shape,
    bool_property,
    count_property,
    property_of,
    text_argument,
    text_property,
)
from comity.extract.compiler.transforms import Transforms
from comity.extract.compiler.type_expressions import assignable, fits, read_type
from comity.extract.ir.program import (
    AttributeValue,
    FieldSelection,
    HtmlValue,
    JavaScriptValue,
    OutputCollection,
    OutputField,
    OutputMember,
    OutputObject,
    TextValue,
    ValueSource,
)
from comity.extract.ir.scalars import ABSENT, Absent, Scalar
from comity.extract.ir.types import STRING, TypeRef, admits_null, nullable
from comity.extract.kdl.tree import Node

OnError = Literal["fail", "null", "warn", "default"]
ON_ERROR = ("fail", "null", "warn", "default")
_FIELD = Shape((1, 1), {"type": "string", "required": "bool", "default": "scalar"}, children=True)
_COLLECTION = Shape(
    (1, 1),
    {"required": "bool", "min-items": "count", "max-items": "count", "on-row-error": "string"},
    children=True,
)
_JAVASCRIPT: dict[str, PropertyKind] = {"scope": "string", "returns": "string", "timeout-ms": "int"}
_FIELD_CHILDREN = frozenset({"select", "value", "evaluate-js", "apply", "on-error"})


@dataclass(frozen=True, slots=True)
class Members:
    """Compiles the members of one extractor; `browser` says that pages are loaded in one."""

    scope: Scope
    transforms: Transforms
    browser: bool

    def output(self) -> OutputObject:
        return self._object(self.scope.document.root, "output", in_row=False)

    def _object(self, parent: Node, path: str, *, in_row: bool) -> OutputObject:
        members: dict[str, OutputMember] = {}
        for node in parent.children:
            if node.name not in {"field", "collection"}:
                continue
            name = text_argument(node) or ""
            place = f"{path}.{name}" if name else path
            self.scope.check(node, _COLLECTION if node.name == "collection" else _FIELD, place)
            if node.arguments and not MEMBER_NAME.fullmatch(name):
                message = f"a name of a {node.name} has lower-case letters, digits and _, and begins with a letter"
                self.scope.error("E_IDENTIFIER_INVALID", message, node, place)
            elif name in members:
                message = f"there is another {name} beside this one: give one of them another name"
                self.scope.error("E_DUPLICATE_SYMBOL", message, node, place)
            member: OutputMember | None
            if node.name == "collection":
                member = self._collection(node, name, place)
            else:
                member = self._field(node, name, place, in_row=in_row)
            if member is not None:
                members[name] = member
        return OutputObject(kind="object", members=tuple(members.values()))

    def _collection(self, node: Node, name: str, path: str) -> OutputCollection:
        for child in node.children:
            if child.name not in {"select", "field", "collection"}:
                message = f"a collection has select, field and collection, not {child.name}"
                self.scope.error("E_UNKNOWN_NODE", message, child, path)
        select = self.scope.one_child(node, "select", path)
        selector = ""
        if select is None:
            self.scope.error("E_SELECTOR_REQUIRED", 'a collection needs a select "…" that finds its rows', node, path)
        else:
            self.scope.check(select, Shape((1, 1)), f"{path}.select")
            selector = self.scope.selector(select, f"{path}.select")
        if not any(child.name in {"field", "collection"} for child in node.children):
            self.scope.error("E_COLLECTION_EMPTY_SCHEMA", "a collection needs a field or a collection", node, path)
        required = bool_property(node, "required", False)
        least, most = count_property(node, "min-items") or 0, count_property(node, "max-items")
        if most is not None and most < max(least, int(required)):
            message = f"at most {most} rows can never be at least {max(least, int(required))}: change a bound"
            self.scope.error("E_COLLECTION_BOUNDS", message, node, path)
        policy = self.scope.choice(node, "on-row-error", ("fail", "skip"), path)
        return OutputCollection(
            kind="collection",
            id=path,
            name=name,
            selector=selector,
            required=required,
            min_items=least,
            max_items=most,
            on_row_error=cast("Literal['fail', 'skip']", policy or "fail"),
            row=self._object(node, f"{path}[]", in_row=True),
            span=self.scope.span(node),
        )

    def _field(self, node: Node, name: str, path: str, *, in_row: bool) -> OutputField | None:
        for child in node.children:
            if child.name not in _FIELD_CHILDREN:
                message = f"a field has select, value, evaluate-js, apply and on-error, not {child.name}"
                self.scope.error("E_UNKNOWN_NODE", message, child, path)
        successful = self._type(node, path)
        selection = self._selection(self.scope.one_child(node, "select", path), path)
        source = self._value_source(node, selection, path, in_row=in_row)
        raw: TypeRef | None = None
        if source is not None:
            raw = source.returns if isinstance(source, JavaScriptValue) else source.raw_type
        applies = [child for child in node.children if child.name == "apply"]
        calls, ends_in = self.transforms.calls(self.scope.document, applies, raw, f"{path}.transforms")
        if successful is None:
            return None
        if ends_in is not None and not assignable(ends_in, successful):
            message = (
                f"the field ends in {ends_in}, but its type is {successful}: change the type, or apply a transform"
            )
            self.scope.error("E_TYPE_MISMATCH", message, node, path)
        required = bool_property(node, "required", False)
        default = self._default(node, successful, path, required=required)
        effective = successful if required or not isinstance(default, Absent) else nullable(successful)
        on_error = self._on_error(node, effective, default, path, required=required)
        if source is None:
            return None
        return OutputField(
            kind="field",
            id=path,
            name=name,
            successful_type=successful,
            effective_type=effective,
            required=required,
            default=default,
            selection=selection,
            value_source=source,
            transforms=calls,
            on_error=on_error,
            span=self.scope.span(node),
        )

    def _type(self, node: Node, path: str) -> TypeRef | None:
        written = text_property(node, "type")
        if written is None:
            if property_of(node, "type") is None:
                self.scope.error(
                    "E_FIELD_TYPE_REQUIRED", 'a field needs type="…", for example type="string"', node, path
                )
            return None
        read = read_type(written)
        if isinstance(read, str):
            self.scope.error("E_TYPE_UNKNOWN", read, node, path)
            return None
        return read

    def _default(self, node: Node, successful: TypeRef, path: str, *, required: bool) -> Scalar | Absent:
        found = property_of(node, "default")
        if found is None:
            return ABSENT
        if required:
            message = "a required field has no default: write required=#false, or remove the default"
            self.scope.error("E_DEFAULT_INVALID", message, found, path)
        elif not fits(found.value.scalar, successful):
            message = f"the default must be a {successful}"
            self.scope.error("E_DEFAULT_INVALID", message, found, path)
        return found.value.scalar

    def _on_error(
        self, node: Node, effective: TypeRef, default: Scalar | Absent, path: str, *, required: bool
    ) -> OnError:
        policy = "fail" if required else "null"
        path = f"{path}.onError"
        written = self.scope.one_child(node, "on-error", path)
        if written is not None:
            self.scope.check(written, Shape((1, 1)), path)
            given = text_argument(written)
            if given in ON_ERROR:
                policy = str(given)
            elif written.arguments:
                message = "on-error must be fail, null, warn or default"
                self.scope.error("E_ERROR_POLICY_INVALID", message, written, path)
        if policy in {"null", "warn"} and not admits_null(effective):
            fix = 'write on-error "fail" or "default"' if written is None else "make the type nullable with ?"
            message = f"on-error {policy} gives null, which {effective} does not admit: {fix}"
            self.scope.error("E_ERROR_POLICY_INVALID", message, node, path)
        if policy == "default" and isinstance(default, Absent):
            message = "on-error default needs a default: add default=… to the field"
            self.scope.error("E_ERROR_POLICY_INVALID", message, node, path)
        return cast("OnError", policy)

    def _selection(self, node: Node | None, path: str) -> FieldSelection | None:
        if node is None:
            return None
        path = f"{path}.select"
        self.scope.check(node, Shape((1, 1), {"match": "string"}), path)
        match = self.scope.choice(node, "match", ("one", "first"), path)
        return FieldSelection(
            selector=self.scope.selector(node, path),
            match=cast("Literal['one', 'first']", match or "one"),
            span=self.scope.span(node),
        )

    def _value_source(
        self, node: Node, selection: FieldSelection | None, path: str, *, in_row: bool
    ) -> ValueSource | None:
        path_of_value = f"{path}.valueSource"
        found = [child for child in node.children if child.name in {"value", "evaluate-js"}]
        if not found:
            message = 'a field needs a value "text", value "html", value "attr" name="…" or evaluate-js'
            self.scope.error("E_VALUE_SOURCE_MISSING", message, node, path)
            return None
        for extra in found[1:]:
            self.scope.error("E_VALUE_SOURCE_MULTIPLE", "a field has one value: remove this one", extra, path_of_value)
        first = found[0]
        if first.name == "evaluate-js":
            return self._javascript(first, selection, path_of_value, in_row=in_row)
        if selection is None and not in_row:
            message = 'a value outside of collections needs a select "…" beside it'
            self.scope.error("E_SELECTOR_REQUIRED", message, node, path)
        return self._value(first, path_of_value)

    def _value(self, node: Node, path: str) -> ValueSource | None:
        kind = text_argument(node)
        properties: dict[str, PropertyKind] = {"name": "string"} if kind == "attr" else {}
        self.scope.check(node, Shape((1, 1), properties), path)
        span = self.scope.span(node)
        match kind:
            case "text":
                return TextValue(kind="text", raw_type=STRING, span=span)
            case "html":
                return HtmlValue(kind="html", raw_type=STRING, span=span)
            case "attr":
                name = text_property(node, "name")
                if not name:
                    message = 'value "attr" needs the attribute\'s name: value "attr" name="href"'
                    self.scope.error("E_ATTRIBUTE_NAME_REQUIRED", message, node, path)
                return AttributeValue(kind="attribute", name=name or "", raw_type=STRING, span=span)
            case _:
                if node.arguments:
                    message = 'a value is "text", "html" or "attr"'
                    self.scope.error("E_TYPE_MISMATCH", message, node.arguments[0], path)
                return None

    def _javascript(
        self, node: Node, selection: FieldSelection | None, path: str, *, in_row: bool
    ) -> ValueSource | None:
        self.scope.check(node, Shape((1, 1), _JAVASCRIPT), path)
        if not self.browser:
            message = 'evaluate-js needs a browser: write fetch mode="browser", or value "text" instead'
            self.scope.error("E_BROWSER_CAPABILITY_REQUIRED", message, node, path)
        script = text_argument(node)
        if script is None and node.arguments:
            message = "the script must be a string"
            self.scope.error("E_TYPE_MISMATCH", message, node.arguments[0], path)
        scope = self.scope.choice(node, "scope", ("document", "current"), path)
        if property_of(node, "scope") is None:
            self.scope.error("E_TYPE_MISMATCH", 'evaluate-js needs scope="document" or scope="current"', node, path)
        if scope == "document" and selection is not None:
            message = 'scope="document" has no element: remove the select, or write scope="current"'
            self.scope.error("E_SELECTOR_FORBIDDEN", message, node, path)
        if scope == "current" and selection is None and not in_row:
            message = 'scope="current" outside of collections needs a select "…" beside it'
            self.scope.error("E_CURRENT_SCOPE_UNAVAILABLE", message, node, path)
        written = text_property(node, "returns")
        returns = 'evaluate-js needs returns="type"' if written is None else read_type(written)
        timeout_ms = self.scope.milliseconds(node, "timeout-ms", path)
        if isinstance(returns, str):
            self.scope.error("E_TYPE_UNKNOWN", returns, node, path)
            return None
        return JavaScriptValue(
            kind="javascript",
            scope=cast("Literal['document', 'current']", scope or "document"),
            source=script or "",
            returns=returns,
            timeout_ms=timeout_ms,
            span=self.scope.span(node),
        )
