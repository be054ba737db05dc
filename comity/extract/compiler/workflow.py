"""What a browser does with a page before it is read: the steps of a workflow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from comity.extract.compiler.scope import Scope
from comity.extract.compiler.shapes import Shape
from comity.extract.ir.program import (
    Click,
    EvaluateJs,
    Fill,
    Press,
    Scroll,
    WaitFor,
    WaitForNetworkIdle,
    WorkflowStep,
)
from comity.extract.ir.spans import Span
from comity.extract.kdl.tree import Node

WAIT_STATES = ("attached", "visible", "hidden", "detached")
DEFAULT_IDLE_MS = 500


def compile_workflow(scope: Scope, node: Node) -> tuple[WorkflowStep, ...]:
    scope.check(node, Shape(children=True), "source.workflow")
    steps: list[WorkflowStep] = []
    for index, child in enumerate(node.children):
        path = f"source.workflow[{index}]"
        made = STEPS.get(child.name)
        if made is None:
            message = f"there is no step {child.name}: the steps are {', '.join(STEPS)}"
            scope.error("E_UNKNOWN_NODE", message, child, path)
            continue
        shape, build = made
        scope.check(child, shape, path)
        steps.append(build(_Step(scope, child, path)))
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class _Step:
    """What the steps read of their node."""

    scope: Scope
    node: Node
    path: str

    @property
    def span(self) -> Span:
        return self.scope.span(self.node)

    @property
    def timeout_ms(self) -> int | None:
        return self.scope.milliseconds(self.node, "timeout-ms", self.path)

    @property
    def selector(self) -> str:
        return self.scope.selector(self.node, self.path)

    def text(self, index: int, meaning: str) -> str:
        return self.scope.text(self.node, index, meaning, self.path)

    def pixels(self, index: int) -> int | float:
        scalar = self.node.arguments[index].scalar if index < len(self.node.arguments) else 0
        if isinstance(scalar, bool) or not isinstance(scalar, int | float):
            message = "scroll takes two numbers, x and y in CSS pixels"
            self.scope.error("E_TYPE_MISMATCH", message, self.node.arguments[index], self.path)
            return 0
        return scalar

    def state(self) -> Literal["attached", "visible", "hidden", "detached"]:
        state = self.scope.choice(self.node, "state", WAIT_STATES, self.path)
        return cast("Literal['attached', 'visible', 'hidden', 'detached']", state or "visible")

    def idle_ms(self) -> int:
        found = self.scope.milliseconds(self.node, "idle-ms", self.path)
        return DEFAULT_IDLE_MS if found is None else found


def _wait_for(step: _Step) -> WorkflowStep:
    return WaitFor(
        kind="wait-for", selector=step.selector, state=step.state(), timeout_ms=step.timeout_ms, span=step.span
    )


def _click(step: _Step) -> WorkflowStep:
    return Click(kind="click", selector=step.selector, timeout_ms=step.timeout_ms, span=step.span)


def _fill(step: _Step) -> WorkflowStep:
    value = step.text(1, "what to fill in")
    return Fill(kind="fill", selector=step.selector, value=value, timeout_ms=step.timeout_ms, span=step.span)


def _press(step: _Step) -> WorkflowStep:
    key = step.text(1, "the key")
    return Press(kind="press", selector=step.selector, key=key, timeout_ms=step.timeout_ms, span=step.span)


def _scroll(step: _Step) -> WorkflowStep:
    return Scroll(kind="scroll", x=step.pixels(0), y=step.pixels(1), span=step.span)


def _network_idle(step: _Step) -> WorkflowStep:
    return WaitForNetworkIdle(
        kind="wait-for-network-idle", idle_ms=step.idle_ms(), timeout_ms=step.timeout_ms, span=step.span
    )


def _evaluate_js(step: _Step) -> WorkflowStep:
    source = step.text(0, "the script")
    return EvaluateJs(kind="evaluate-js", source=source, timeout_ms=step.timeout_ms, span=step.span)


STEPS: dict[str, tuple[Shape, Callable[[_Step], WorkflowStep]]] = {
    "wait-for": (Shape((1, 1), {"state": "string", "timeout-ms": "int"}), _wait_for),
    "click": (Shape((1, 1), {"timeout-ms": "int"}), _click),
    "fill": (Shape((2, 2), {"timeout-ms": "int"}), _fill),
    "press": (Shape((2, 2), {"timeout-ms": "int"}), _press),
    "scroll": (Shape((2, 2)), _scroll),
    "wait-for-network-idle": (Shape(properties={"idle-ms": "int", "timeout-ms": "int"}), _network_idle),
    "evaluate-js": (Shape((1, 1), {"timeout-ms": "int"}), _evaluate_js),
}
