"""Request bodies as queries, so that an index can tell one POST from another.

Replay looks a POST up by its URL with `__wb_method=POST&` and a canonical form of its body appended, as written down in
https://specs.webrecorder.net/request-body-canonicalization/latest/ and done by `cdxj-indexer`; tests compare the two.
"""

import base64
import json
from email.message import Message
from email.parser import BytesParser
from typing import Any
from urllib.parse import unquote_plus, urlencode

WITH_BODY = frozenset({"POST", "PUT"})
INDEXED = WITH_BODY | {"GET"}
"""Methods whose responses a replay can ask for. A HEAD or OPTIONS under the same key would hide the GET's answer."""
MAX_QUERY_CHARACTERS = 4096


def body_query(content_type: str, body: bytes) -> str:
    """The canonical form of a request body: its fields where it has any, else all of it in base64."""
    if content_type.startswith("application/x-www-form-urlencoded"):
        try:
            query = unquote_plus(body.decode("utf-8"))
        except UnicodeDecodeError:
            query = _binary(body)
    elif content_type.startswith("multipart/"):
        query = _multipart(content_type, body)
    elif content_type.startswith("application/json"):
        query = _json_fields(body) or ""
    elif content_type.startswith("text/plain"):
        fields = _json_fields(body)
        query = _binary(body) if fields is None else fields
    else:
        query = _binary(body)
    return query[:MAX_QUERY_CHARACTERS]


def with_query(url: str, method: str, query: str) -> str:
    """The URL that the index key is made from."""
    return f"{url}{'&' if '?' in url else '?'}__wb_method={method}" + (f"&{query}" if query else "")


def _binary(body: bytes) -> str:
    return f"__wb_post_data={base64.b64encode(body).decode('ascii')}"


def _multipart(content_type: str, body: bytes) -> str:
    parsed = BytesParser().parsebytes(
        b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body
    )
    if not parsed.is_multipart():
        return _binary(body)
    values: list[tuple[str, str | bytes]] = []
    for part in parsed.walk():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str):
            values.append((name, _part_value(part)))
    return urlencode(values)


def _part_value(part: Message) -> str | bytes:
    raw = part.get_payload(decode=True)
    data = raw if isinstance(raw, bytes) else b""
    return data if part.get_filename() else data.decode("utf-8", "replace")


def _json_fields(body: bytes) -> str | None:
    """`name=value` for every named scalar, however deep; None: not JSON, nor lines of JSON."""
    found: dict[str, str] = {}
    repeats: dict[str, int] = {}

    def walk(value: Any, name: str = "") -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, key)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, name)
        elif name:
            found[_free_name(name, found, repeats)] = str(value)

    try:
        for value in _json_values(body):
            walk(value)
    except (ValueError, RecursionError):
        return None
    return urlencode(found)


def _json_values(body: bytes) -> list[Any]:
    try:
        return [json.loads(body)]
    except json.JSONDecodeError:
        if b"\n" not in body:
            raise
        return [json.loads(line) for line in body.split(b"\n")]


def _free_name(name: str, found: dict[str, str], repeats: dict[str, int]) -> str:
    """The second `a` is `a.2_`, the third `a.3_`."""
    if name not in found:
        return name
    repeats[name] = repeats.get(name, 1) + 1
    return f"{name}.{repeats[name]}_"
