"""The built-in transforms of URLs."""

from collections.abc import Callable
from typing import Any

from comity.extract.profile.uri import UriError, decoded, parse_uri, query_values, resolve
from comity.extract.run.builtins_text import Arguments, Factory, Function
from comity.extract.run.failures import shown, transform_error


def _or_error(read: Callable[[str], Any]) -> Function:
    def function(value: str) -> Any:
        try:
            return read(value)
        except UriError as error:
            raise transform_error(f"{shown(value)} is not a URL: {error}") from None

    return function


def _url_resolve(arguments: Arguments) -> Function:
    base = parse_uri(arguments["base"])
    if base.scheme is None:
        raise UriError("it is not absolute")
    return _or_error(lambda value: str(resolve(base, parse_uri(value))))


def _url_query(arguments: Arguments) -> Function:
    name, index = arguments["name"], arguments.get("index", 0)

    def read(value: str) -> str | None:
        found = query_values(parse_uri(value).query or "", name)
        return found[index] if index < len(found) else None

    return _or_error(read)


def _url_path(_: Arguments) -> Function:
    return _or_error(lambda value: decoded(parse_uri(value).path))


def _path_segment(arguments: Arguments) -> Function:
    index: int = arguments["index"]

    def read(value: str) -> str | None:
        segments = [decoded(one) for one in parse_uri(value).path.split("/") if one]
        return segments[index] if -len(segments) <= index < len(segments) else None

    return _or_error(read)


URLS: dict[str, Factory] = {
    "url-resolve": _url_resolve,
    "url-query": _url_query,
    "url-path": _url_path,
    "path-segment": _path_segment,
}
