"""What is known to be impossible before anything is sent, and before a page is looked at."""

from collections.abc import Mapping
from typing import Any

from comity.extract.ir.program import ExternalTransform, Extractor, JavaScriptValue, OutputCollection, OutputObject
from comity.extract.run.browser import CAPABILITIES
from comity.extract.run.failures import Failure, RunError
from comity.extract.run.options import ExtractOptions


def snapshot_refusal(extractor: Extractor) -> Failure | None:
    """Why no saved page can give what the program wants."""
    if extractor.source.workflow:
        message = "the program's workflow needs a live browser; a saved page has none"
        return Failure("E_SNAPSHOT_UNSUPPORTED", message, "source.workflow")
    member_id = _javascript_in(extractor.output)
    if member_id is None:
        return None
    return Failure(
        "E_SNAPSHOT_UNSUPPORTED", "the value comes from JavaScript, which a saved page does not run", member_id
    )


def check_external(extractor: Extractor, functions: Mapping[str, Any]) -> None:
    """Raises RunError where the host lacks a function that the program names."""
    for one in extractor.transforms:
        if isinstance(one, ExternalTransform) and one.symbol not in functions:
            message = f"the host has no function {one.symbol!r}; give it in external_transforms"
            raise RunError("E_EXTERNAL_TRANSFORM_MISSING", message, one.name)


def check_browser(extractor: Extractor, options: ExtractOptions) -> None:
    """Raises RunError where the browser that there is cannot do what the program wants of one."""
    if extractor.source.fetch.mode != "browser":
        return
    lacking = [one for one in extractor.capabilities if one.startswith("browser.") and one not in CAPABILITIES]
    if lacking:
        path = "source.workflow" if extractor.source.workflow else _javascript_in(extractor.output)
        message = f"the program needs {', '.join(lacking)}; pages are loaded and read here, not worked with"
        raise RunError("E_BROWSER_CAPABILITY_MISSING", message, path)
    policy = extractor.source.session_policy
    if policy == "required" or (policy == "optional" and options.session is not None):
        message = "a capture server takes no headers and cookies: the program's session needs fetch mode http"
        raise RunError("E_BROWSER_CAPABILITY_MISSING", message, "source.session")
    if options.browser is None:
        message = "the program's page needs a browser, and there is none here: give one in `browser`"
        raise RunError("E_BROWSER_RUNTIME_MISSING", message, "source.fetch")


def check_session(extractor: Extractor, options: ExtractOptions) -> None:
    """Raises RunError where the program wants a session and none was given."""
    held = options.session
    if extractor.source.session_policy == "required" and not (held and (held.headers or held.cookies)):
        message = "the program needs a session: headers, cookies or both; give one"
        raise RunError("E_SESSION_REQUIRED", message, "source.session")


def _javascript_in(described: OutputObject) -> str | None:
    for member in described.members:
        if isinstance(member, OutputCollection):
            found = _javascript_in(member.row)
        else:
            found = member.id if isinstance(member.value_source, JavaScriptValue) else None
        if found is not None:
            return found
    return None
