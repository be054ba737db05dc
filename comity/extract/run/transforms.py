"""Transforms as functions: built-ins, declared pipelines and matches, and the host's external ones."""

from collections.abc import Callable
from typing import Any

from comity.extract.ir.program import (
    BuiltinTarget,
    ExternalTransform,
    MatchTransform,
    PipelineTransform,
    Transform,
    TransformCall,
)
from comity.extract.ir.types import STRING, TypeRef
from comity.extract.profile.patterns import PatternError
from comity.extract.run.builtins_text import TEXT, Arguments, Factory, Function
from comity.extract.run.builtins_urls import URLS
from comity.extract.run.builtins_values import VALUES, assert_enum, f32_to_text, scalar_key
from comity.extract.run.execution import Execution
from comity.extract.run.failures import RunError
from comity.extract.run.values import MismatchError, checker

BUILTINS: dict[str, Factory] = {**TEXT, **VALUES, **URLS}
"""All built-ins that take named arguments; `assert-enum`, the one with positional arguments, is not here."""

_TEXT_TO_TEXT = frozenset({
    "trim", "normalize-whitespace", "lowercase", "uppercase", "replace", "regex-replace", "substring", "prepend",
    "append", "assert-matches", "to-string", "url-resolve", "url-path",
})  # fmt: skip
HostFunction = Callable[[Any, Execution], Any]
Step = tuple[Callable[..., Any], bool]
"""A `Function` of the value alone, or, where the flag is set, a `HostFunction`, which needs the caller's registry."""


class Transforms:
    """The declared transforms of a program. Each is made once, however often it is called."""

    def __init__(self, declared: tuple[Transform, ...]) -> None:
        self._declared = {one.symbol_id: one for one in declared}
        self._made: dict[str, tuple[Step, ...]] = {}
        self._open: list[str] = []

    def steps(self, calls: tuple[TransformCall, ...], path: str) -> tuple[Step, ...]:
        """The calls in order, with pipelines laid flat. Raises RunError at `path` for a call that cannot work."""
        made: list[Step] = []
        for call in calls:
            if isinstance(call.target, BuiltinTarget):
                made.append((_builtin(call.target.name, call, path), False))
            else:
                made += self._steps_of(call.target.symbol_id, path)
        return tuple(made)

    def _steps_of(self, symbol_id: str, path: str) -> tuple[Step, ...]:
        if symbol_id in self._made:
            return self._made[symbol_id]
        if symbol_id in self._open:
            raise RunError("E_TRANSFORM_RECURSION", f"the transform {symbol_id} calls itself", path)
        match self._declared.get(symbol_id):
            case PipelineTransform(calls=calls):
                self._open.append(symbol_id)
                made = self.steps(calls, path)
                self._open.pop()
            case MatchTransform() as matching:
                made = ((_matching(matching, path), False),)
            case ExternalTransform() as external:
                made = ((_external(external), True),)
            case _:
                raise RunError("E_TRANSFORM_MISSING", f"the program has no transform {symbol_id}", path)
        self._made[symbol_id] = made
        return made


def certain_output(call: TransformCall) -> TypeRef | None:
    """The type that a call can only end in, whatever the program claims; None where that is not known."""
    if not isinstance(call.target, BuiltinTarget):
        return None
    name = call.target.name
    if name in ("parse-int", "parse-float"):
        target = next((one.value for one in call.named_arguments if one.name == "as"), None)
        return call.output if str(call.output) == target else None
    return STRING if name in _TEXT_TO_TEXT else None


def _builtin(name: str, call: TransformCall, path: str) -> Function:
    arguments: Arguments = {one.name: one.value for one in call.named_arguments}
    if name == "assert-enum":
        return assert_enum(call.positional_arguments)
    if name == "to-string" and str(call.input) == "f32":
        return f32_to_text
    factory = BUILTINS.get(name)
    if factory is None:
        raise RunError("E_TRANSFORM", f"there is no built-in transform {name!r}", path)
    try:
        if name == "coalesce":
            arguments["value"] = checker(call.output)(arguments["value"])
        return factory(arguments)
    except PatternError as error:
        raise RunError("E_REGEX_INVALID", str(error), path) from None
    except KeyError as error:
        raise RunError("E_IR_INVALID", f"{name} lacks its argument {error.args[0]!r}", path) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise RunError("E_IR_INVALID", f"the arguments of {name} do not fit: {error}", path) from None


def _matching(transform: MatchTransform, path: str) -> Function:
    check = checker(transform.output)
    try:
        results = {scalar_key(case.when): check(case.then) for case in transform.cases}
        otherwise = check(transform.default)
    except MismatchError as error:
        raise RunError("E_IR_INVALID", f"a result of the transform {transform.name}: {error}", path) from None
    return lambda value: results.get(scalar_key(value), otherwise)


def _external(transform: ExternalTransform) -> HostFunction:
    check = checker(transform.output)
    name, symbol = transform.name, transform.symbol

    def call(value: Any, execution: Execution) -> Any:
        try:
            returned = execution.external[symbol](value)
        except Exception as error:  # whatever a host's function raises is this field's error
            raise RunError("E_EXTERNAL_TRANSFORM", f"{symbol} raised {type(error).__name__}: {error}") from error
        try:
            return check(returned)
        except MismatchError as error:
            message = f"{symbol} returned what {name} does not end in: {error}"
            raise RunError("E_EXTERNAL_TRANSFORM_RESULT_TYPE", message) from None

    return call
