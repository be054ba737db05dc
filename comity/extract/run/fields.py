"""A field as one function from an element to a value.

What a page decides is in the function; what the program decides is settled when it is made. `execution.page` is asked
only where turbohtml's own answer would be wrong for this page, which is told once (`plain`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from turbohtml import Document, Element

from comity.extract.ir.program import AttributeValue, OutputField, TextValue
from comity.extract.ir.scalars import ABSENT
from comity.extract.ir.types import STRING, NullableType
from comity.extract.run.execution import Execution, Path
from comity.extract.run.failures import HaltedError, RunError
from comity.extract.run.transforms import Step, Transforms, certain_output
from comity.extract.run.values import Checker, MismatchError, checker

Scope = Element | Document
Member = Callable[[Scope, Execution], Any]
Finder = Callable[[Scope, Execution], list[Element]]


class MissingError(RunError):
    """A required value is not there: `on-error` has no say in it, `on-row-error` has."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a field finds its elements. `css` is there where turbohtml may be asked directly on a plain page."""

    find: Finder
    css: str | None


def field_member(field: OutputField, lookup: Lookup | None, transforms: Transforms, path: Path) -> Member:
    """The function of a field. Without `lookup`, the scope itself is read: a collection's row."""
    convert = _converter(transforms.steps(field.transforms, str(path)))
    check = _output_checker(field)
    recover = _recovery(field, path)
    default, is_required = _default(field, path), field.required
    find, css = (lookup.find, lookup.css) if lookup else (None, None)
    takes_first = field.selection is not None and field.selection.match == "first"
    source = field.value_source
    attribute = source.name if isinstance(source, AttributeValue) else None
    is_text = isinstance(source, TextValue)

    # called for each row: branches here are several times cheaper than calls of smaller functions would be
    def member(scope: Scope, execution: Execution) -> Any:  # noqa: PLR0912 -- many branches, see above
        try:
            element: Any = scope
            if find is not None:
                found = scope.select(css) if css is not None and execution.plain else find(scope, execution)
                if len(found) == 1 or (found and takes_first):
                    element = found[0]
                elif found:
                    raise _too_many(field, len(found))
                else:
                    element = None
            if element is None:
                value = None
            elif attribute is not None:
                value = element.attr(attribute)
            elif is_text:
                value = element.text if execution.plain else execution.page.text(element)
            else:
                value = execution.page.html(element)
            if value is None:
                if is_required:
                    raise _missing(field, is_there=element is not None)
                return default
            execution.chars_left -= len(value)
            if execution.chars_left < 0:
                raise execution.out_of_text()
            if convert is not None:
                value = convert(value, execution)
            return value if check is None else check(value)
        except HaltedError as error:
            error.path = error.path or path.of(execution)
            raise
        except (RunError, MismatchError, TypeError, ValueError, AttributeError) as error:
            return recover(error, execution)

    return member


def _converter(steps: tuple[Step, ...]) -> Callable[[Any, Execution], Any] | None:
    if not steps:
        return None

    def convert(value: Any, execution: Execution) -> Any:
        for function, needs_host in steps:
            value = function(value, execution) if needs_host else function(value)
        return value

    return convert


def _output_checker(field: OutputField) -> Checker | None:
    """None where the last thing that is done can only give the right type."""
    certain = certain_output(field.transforms[-1]) if field.transforms else STRING
    wanted = field.successful_type
    if certain is not None and certain in (wanted, wanted.inner if isinstance(wanted, NullableType) else wanted):
        return None
    return checker(wanted)


def _default(field: OutputField, path: Path) -> Any:
    if field.default is ABSENT:
        return None
    try:
        return checker(field.effective_type)(field.default)
    except MismatchError as error:
        raise RunError("E_IR_INVALID", f"the default: {error}", str(path)) from None


def _recovery(field: OutputField, path: Path) -> Callable[[Exception, Execution], Any]:
    policy = field.on_error
    default = _default(field, path)

    def recover(error: Exception, execution: Execution) -> Any:
        if isinstance(error, MismatchError):
            error = RunError("E_OUTPUT_TYPE", str(error))
        elif not isinstance(error, RunError):
            # the types that the program claims for its transforms are not those that they have
            error = RunError("E_FIELD_EXECUTION", f"a transform got a value that it cannot take: {error}")
        where = path.of(execution)
        error.path = error.path or where
        if policy == "fail" or isinstance(error, MissingError):
            raise error
        execution.partial = True
        if policy == "warn":
            execution.warn("W_ERROR_RECOVERED", error, where)
        return default if policy == "default" else None

    return recover


def _too_many(field: OutputField, count: int) -> RunError:
    selector = field.selection.selector if field.selection else ""
    return RunError(
        "E_SELECTOR_CARDINALITY",
        f'{count} elements match {selector!r}; narrow it, or take the first with match="first"',
    )


def _missing(field: OutputField, *, is_there: bool) -> MissingError:
    selector = field.selection.selector if field.selection else "the row"
    if is_there and isinstance(field.value_source, AttributeValue):
        message = f"the element of {selector!r} has no attribute {field.value_source.name!r}"
    else:
        message = f"no element matches {selector!r}"
    return MissingError("E_REQUIRED_VALUE_MISSING", message)
