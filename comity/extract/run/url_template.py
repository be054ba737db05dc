"""The address of a page: a URL template with its inputs filled in."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from comity.contract.web_address import web_url
from comity.extract.ir.canonical import plain_decimal
from comity.extract.ir.program import LiteralSegment, Template
from comity.extract.ir.scalars import Scalar
from comity.extract.run.failures import RunError

PATH = "source.fetch.url"


def expanded_url(template: Template, values: Mapping[str, Scalar]) -> str:
    """The absolute http(s) URL, inputs percent-encoded down to the unreserved characters (RFC 3986, section 2.3).

    Raises RunError: E_INPUT_REQUIRED for an input without a value, E_URL_INVALID for what is no URL, E_URL_POLICY for
    one with a user or a password in it, which would go into logs and to whoever the page belongs to.
    """
    pieces = (one.value if isinstance(one, LiteralSegment) else _encoded(one.name, values) for one in template.segments)
    return checked_url("".join(pieces))


def checked_url(text: str) -> str:
    """The same URL. Raises RunError: E_URL_INVALID, E_URL_POLICY."""
    try:
        url = web_url(text)
    except ValueError as error:
        raise RunError("E_URL_INVALID", f"{text[:200]!r} is no web address: {error}", PATH) from None
    if "@" in urlsplit(url).netloc:
        raise RunError("E_URL_POLICY", "the URL has a user or a password in it; give a session instead", PATH)
    return url


def _encoded(name: str, values: Mapping[str, Scalar]) -> str:
    if values.get(name) is None:
        raise RunError("E_INPUT_REQUIRED", f"the URL needs the input {name!r}; give it", f"inputs.{name}")
    try:
        return quote(_text(values[name]), safe="")
    except UnicodeEncodeError:
        message = f"the input {name!r} has half a surrogate pair, which no URL can hold"
        raise RunError("E_URL_INVALID", message, f"inputs.{name}") from None


def _text(value: Scalar) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return plain_decimal(value)
        case _:
            return str(value)
