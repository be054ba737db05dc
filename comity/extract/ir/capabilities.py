"""What a program needs of whoever runs it, read from the program itself."""

from comity.extract.ir.program import (
    AttributeValue,
    Click,
    EvaluateJs,
    ExternalTransform,
    Fill,
    HtmlValue,
    JavaScriptValue,
    OutputCollection,
    OutputObject,
    Press,
    Scroll,
    Source,
    TextValue,
    Transform,
    ValueSource,
    WaitFor,
    WaitForNetworkIdle,
    WorkflowStep,
)

_OF_STEP: dict[type[WorkflowStep], str] = {
    WaitFor: "browser.wait",
    Click: "browser.input",
    Fill: "browser.input",
    Press: "browser.input",
    Scroll: "browser.scroll",
    WaitForNetworkIdle: "browser.network-idle",
    EvaluateJs: "browser.evaluate-js",
}
_OF_VALUE: dict[type[ValueSource], str] = {
    TextValue: "browser.read-text",
    HtmlValue: "browser.read-html",
    AttributeValue: "browser.read-attr",
    JavaScriptValue: "browser.evaluate-js",
}


def capabilities_of(source: Source, transforms: tuple[Transform, ...], output: OutputObject) -> tuple[str, ...]:
    """Every capability, once, sorted by code point."""
    needed = {f"transform.external:{one.symbol}" for one in transforms if isinstance(one, ExternalTransform)}
    if source.fetch.mode == "http":
        needed.add("http.fetch")
    else:
        needed.add("browser.navigate")
        needed.update(_OF_STEP[type(step)] for step in source.workflow)
        needed.update(_of_output(output))
    return tuple(sorted(needed))


def _of_output(output: OutputObject) -> set[str]:
    needed: set[str] = set()
    for member in output.members:
        if isinstance(member, OutputCollection):
            needed |= {"browser.query"} | _of_output(member.row)
            continue
        needed.add(_OF_VALUE[type(member.value_source)])
        if member.selection is not None:
            needed.add("browser.query")
    return needed
