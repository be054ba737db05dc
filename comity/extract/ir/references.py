"""What the parts of a program say of one another, beyond what the IR's JSON Schema can say."""

from collections.abc import Iterable, Iterator

from comity.extract.ir.capabilities import capabilities_of
from comity.extract.ir.program import (
    BuiltinTarget,
    DeclaredTarget,
    Extractor,
    InputSegment,
    JavaScriptValue,
    OutputCollection,
    OutputField,
    OutputObject,
    PipelineTransform,
    Transform,
    TransformCall,
)
from comity.extract.ir.scalars import Absent
from comity.extract.ir.types import admits_null

# fmt: off
BUILTIN_NAMES = frozenset({
    "append", "assert-enum", "assert-matches", "assert-max", "assert-min", "coalesce", "empty-to-null", "join",
    "lowercase", "normalize-whitespace", "parse-bool", "parse-float", "parse-int", "path-segment", "prepend",
    "regex-capture", "regex-replace", "replace", "split", "substring", "to-string", "trim", "uppercase",
    "url-path", "url-query", "url-resolve",
})
# fmt: on


def faults_of(program: Extractor) -> Iterator[str]:
    """What contradicts itself in a program whose shape is right, each with its path. A compiled program has none."""
    inputs = [one.name for one in program.inputs]
    yield from _repeated("inputs", inputs)
    for segment in program.source.fetch.url_template.segments:
        if isinstance(segment, InputSegment) and segment.name not in inputs:
            yield f"source.fetch.urlTemplate: there is no input {segment.name}"
    yield from _input_faults(program)
    for file in program.files:
        if (file.module_name is None) is not (file.module_version is None):
            yield f"files: {file.path} needs both moduleName and moduleVersion, or neither"
    if program.source.workflow and program.source.fetch.mode == "http":
        yield "source.workflow: a workflow needs fetch mode browser"
    symbols = [one.symbol_id for one in program.transforms]
    yield from _repeated("transforms", symbols)
    for transform in program.transforms:
        if isinstance(transform, PipelineTransform):
            yield from _call_faults(transform.calls, symbols, f"transforms.{transform.name}")
    for symbol in sorted(recursive_transforms(program.transforms)):
        yield f"transforms: {symbol} calls itself"
    yield from _object_faults(program, program.output, symbols, "output")
    if program.capabilities != capabilities_of(program.source, program.transforms, program.output):
        yield "capabilities: they are not those that the program needs"


def _input_faults(program: Extractor) -> Iterator[str]:
    segments = program.source.fetch.url_template.segments
    in_url = {one.name for one in segments if isinstance(one, InputSegment)}
    for one in program.inputs:
        if one.required and not isinstance(one.default, Absent):
            yield f"inputs.{one.name}: a required input has no default"
        elif one.name in in_url and not one.required and isinstance(one.default, Absent):
            yield f"inputs.{one.name}: the URL needs it, so it is required or has a default"


def recursive_transforms(transforms: tuple[Transform, ...]) -> frozenset[str]:
    """The ids of transforms whose calls lead back to them."""
    called = {
        one.symbol_id: {call.target.symbol_id for call in one.calls if isinstance(call.target, DeclaredTarget)}
        for one in transforms
        if isinstance(one, PipelineTransform)
    }
    return frozenset(start for start in called if start in _reached(called, start))


def _reached(called: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(called[start])
    while waiting:
        symbol = waiting.pop()
        if symbol not in reached:
            reached.add(symbol)
            waiting += called.get(symbol, ())
    return reached


def _repeated(where: str, names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"{where}: {name} is there twice"
        seen.add(name)


def _call_faults(calls: tuple[TransformCall, ...], symbols: list[str], path: str) -> Iterator[str]:
    for index, call in enumerate(calls):
        if isinstance(call.target, BuiltinTarget):
            if call.target.name not in BUILTIN_NAMES:
                yield f"{path}[{index}]: there is no built-in transform {call.target.name}"
        elif call.target.symbol_id not in symbols:
            yield f"{path}[{index}]: there is no transform {call.target.symbol_id}"


def _object_faults(program: Extractor, output: OutputObject, symbols: list[str], path: str) -> Iterator[str]:
    yield from _repeated(path, [one.name for one in output.members])
    for member in output.members:
        place = f"{path}.{member.name}"
        if isinstance(member, OutputCollection):
            if not member.row.members:
                yield f"{place}: a row needs a member"
            if member.max_items is not None and member.max_items < max(member.min_items, int(member.required)):
                yield f"{place}: maxItems is below minItems"
            yield from _object_faults(program, member.row, symbols, f"{place}[]")
        else:
            yield from _field_faults(program, member, symbols, place)


def _field_faults(program: Extractor, field: OutputField, symbols: list[str], path: str) -> Iterator[str]:
    yield from _call_faults(field.transforms, symbols, f"{path}.transforms")
    if isinstance(field.value_source, JavaScriptValue):
        if program.source.fetch.mode == "http":
            yield f"{path}.valueSource: JavaScript needs fetch mode browser"
    elif field.selection is None and "[]" not in path:
        yield f"{path}: a value outside of collections needs a selection"
    if field.on_error == "default" and isinstance(field.default, Absent):
        yield f"{path}.onError: there is no default"
    if field.on_error in {"null", "warn"} and not admits_null(field.effective_type):
        yield f"{path}.onError: {field.effective_type} does not admit null"
