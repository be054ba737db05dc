"""Where a page comes from: inputs, fetch and session."""

from typing import Literal, cast

from comity.extract.compiler.graph import MEMBER_NAME
from comity.extract.compiler.scope import Scope
from comity.extract.compiler.shapes import Shape, bool_property, property_of, text_argument, text_property
from comity.extract.compiler.templates import read_template
from comity.extract.compiler.type_expressions import fits
from comity.extract.compiler.workflow import compile_workflow
from comity.extract.ir.program import Fetch, Input, InputSegment, Source, Template
from comity.extract.ir.scalars import ABSENT, Absent, Scalar
from comity.extract.ir.types import primitive
from comity.extract.kdl.tree import Node

INPUT_TYPES = ("string", "bool", "int", "float")
SESSION_POLICIES = ("none", "optional", "required")
_INPUT = Shape((1, 1), {"type": "string", "required": "bool", "default": "scalar"})


def compile_inputs(scope: Scope) -> tuple[Input, ...]:
    inputs: dict[str, Input] = {}
    for node in scope.document.root.children:
        if node.name != "input":
            continue
        name = text_argument(node)
        path = f"inputs.{name}" if name else "inputs"
        scope.check(node, _INPUT, path)
        if name is None or not MEMBER_NAME.fullmatch(name):
            if node.arguments:
                message = "an input's name has lower-case letters, digits and _, and begins with a letter"
                scope.error("E_IDENTIFIER_INVALID", message, node, path)
        elif name in inputs:
            message = f"there are two inputs {name}: give one of them another name"
            scope.error("E_DUPLICATE_SYMBOL", message, node, path)
        else:
            inputs[name] = _input(scope, node, name, path)
    return tuple(inputs.values())


def _input(scope: Scope, node: Node, name: str, path: str) -> Input:
    written = text_property(node, "type")
    if written not in INPUT_TYPES:
        message = f'an input needs type="…", one of {", ".join(INPUT_TYPES)}'
        scope.error("E_TYPE_UNKNOWN", message, node, path)
        written = "string"
    kind = cast("Literal['string', 'bool', 'int', 'float']", written)
    required = bool_property(node, "required", True)
    found = property_of(node, "default")
    default: Scalar | Absent = ABSENT
    if found is not None and required:
        message = f"a required input has no default: write required=#false beside it, or remove the default of {name}"
        scope.error("E_INPUT_REQUIRED_DEFAULT", message, node, path)
    elif found is not None:
        default = found.value.scalar
        if not fits(default, primitive(kind)):
            scope.error("E_DEFAULT_INVALID", f"the default must be a {kind}", found, path)
    span = scope.span(node)
    return Input(name=name, type=kind, required=required, default=default, span=span)


def compile_source(scope: Scope, inputs: tuple[Input, ...]) -> Source | None:
    root = scope.document.root
    node = scope.one_child(root, "source", "source")
    if node is None:
        message = 'an extractor needs a source "html" { fetch … }'
        scope.error("E_ARGUMENT_COUNT", message, root, "source")
        return None
    scope.check(node, Shape((1, 1), children=True), "source")
    if node.arguments and text_argument(node) != "html":
        message = 'the only source is "html"'
        scope.error("E_TYPE_MISMATCH", message, node.arguments[0], "source")
    for child in node.children:
        if child.name not in {"fetch", "session", "workflow"}:
            message = f"a source has fetch, session and workflow, not {child.name}"
            scope.error("E_UNKNOWN_NODE", message, child, "source")
    fetch = _fetch(scope, node, scope.one_child(node, "fetch", "source"), inputs)
    session = scope.one_child(node, "session", "source")
    workflow = scope.one_child(node, "workflow", "source")
    policy = _session_policy(scope, session)
    steps = () if workflow is None else compile_workflow(scope, workflow)
    if fetch is None:
        return None
    if workflow is not None and fetch.mode != "browser":
        message = 'a workflow needs a browser: write fetch mode="browser", or remove the workflow'
        scope.error("E_BROWSER_CAPABILITY_REQUIRED", message, workflow, "source.workflow")
    span = scope.span(node)
    return Source(kind="html", fetch=fetch, session_policy=policy, workflow=steps, span=span)


def _session_policy(scope: Scope, session: Node | None) -> Literal["none", "optional", "required"]:
    if session is None:
        return "none"
    scope.check(session, Shape(properties={"policy": "string"}), "source.session")
    policy = scope.choice(session, "policy", SESSION_POLICIES, "source.session")
    if property_of(session, "policy") is None:
        message = f'a session needs policy="…", one of {", ".join(SESSION_POLICIES)}'
        scope.error("E_TYPE_MISMATCH", message, session, "source.session")
    return cast("Literal['none', 'optional', 'required']", policy or "none")


def _fetch(scope: Scope, source: Node, node: Node | None, inputs: tuple[Input, ...]) -> Fetch | None:
    path = "source.fetch"
    if node is None:
        message = 'a source needs a fetch mode="http" url="…"'
        scope.error("E_ARGUMENT_COUNT", message, source, path)
        return None
    scope.check(node, Shape(properties={"mode": "string", "url": "string"}), path)
    mode = scope.choice(node, "mode", ("http", "browser"), path)
    if property_of(node, "mode") is None:
        scope.error("E_TYPE_MISMATCH", 'fetch needs mode="http" or mode="browser"', node, path)
    raw = text_property(node, "url")
    template = read_template(raw) if raw is not None else 'fetch needs url="https://…"'
    if isinstance(template, str):
        scope.error("E_TEMPLATE_INVALID", template, node, f"{path}.url")
        return None
    _check_template_inputs(scope, node, template, inputs)
    span = scope.span(node)
    return Fetch(mode=cast("Literal['http', 'browser']", mode), url_template=template, span=span) if mode else None


def _check_template_inputs(scope: Scope, node: Node, template: Template, inputs: tuple[Input, ...]) -> None:
    declared = {one.name: one for one in inputs}
    named = dict.fromkeys(one.name for one in template.segments if isinstance(one, InputSegment))
    for name in named:
        if name not in declared:
            message = f'the URL has {{{name}}}, but no input is called so: declare input "{name}" type="string"'
            scope.error("E_INPUT_UNDECLARED", message, node, "source.fetch.url")
        elif not declared[name].required and declared[name].default is ABSENT:
            message = f'the URL needs {name}, which may be left out: give it a default="…", or remove required=#false'
            scope.error("E_TEMPLATE_OPTIONAL_INPUT", message, node, "source.fetch.url")
