"""Whatever a request's fields hold, the answer is a capture's or a refusal that names the field: never a fault of ours.

The values come from the server's own OpenAPI description: of the described kind, just beside it, or of another kind.
"""

import json
import math
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.capture.server import CaptureServer, path_of, request

pytestmark = pytest.mark.browser

NOWHERE = "http://127.0.0.1:9/"
"""Refuses at once: a request that is taken costs no page."""
TEXT = st.text(max_size=40) | st.sampled_from(
    [
        "",
        "\x00",
        "\ud7ff",
        "🪔" * 70,
        "a\r\nb",
        "../../x",
        "http://[::1",
        "http://\ud800/",
    ]
)
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)
Schema = dict[str, Any]
FUZZ = settings(
    max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def within(schema: Schema, models: dict[str, Schema], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values near what the schema describes; at every level also something else now and then."""
    if "$ref" in schema:
        return within(models[schema["$ref"].rpartition("/")[2]], models, depth)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return st.one_of([within(part, models, depth) for part in schema[choice]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")])) | TEXT
    kind = schema.get("type")
    if kind == "object" and depth < 4:
        return of_object(schema, models, depth)
    if kind == "array" and depth < 4:
        return st.lists(within(schema.get("items", {}), models, depth + 1), max_size=4)
    if kind in ("integer", "number"):
        low, high = int(schema.get("minimum", -5)), int(schema.get("maximum", 70_000))
        return st.sampled_from([low - 1, low, low + 1, high - 1, high, high + 1, 0.5, math.pi]) | st.integers(low, high)
    return {"string": TEXT, "boolean": st.booleans() | st.integers(0, 1), "null": st.none()}.get(str(kind), ANYTHING)


def of_object(schema: Schema, models: dict[str, Schema], depth: int) -> st.SearchStrategy[Any]:
    named = {name: within(part, models, depth + 1) for name, part in schema.get("properties", {}).items()}
    required = set(schema.get("required", []))
    whole = st.fixed_dictionaries(
        {name: named[name] for name in required}, optional={n: s for n, s in named.items() if n not in required}
    )
    return whole | st.dictionaries(st.sampled_from([*named, "stranger"]) if named else st.text(max_size=5), ANYTHING)


def points_into(body: Any, path: str, properties: set[str]) -> bool:
    """Whether a JSON Pointer (RFC 6901) leads to a place in the body, or to a member that an object there lacks."""
    inner = body
    names = [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:]]
    for depth, name in enumerate(names):
        last = depth == len(names) - 1
        if isinstance(inner, list) and name.isdecimal() and int(name) < len(inner):
            inner = inner[int(name)]
        elif isinstance(inner, dict) and name in inner:
            inner = inner[name]
        else:
            return last and isinstance(inner, dict) and (depth > 0 or name in properties)
    return True


def test_no_value_of_any_field_is_a_fault_of_ours(server: CaptureServer) -> None:
    models: dict[str, Schema] = server.get("/openapi.json").json()["components"]["schemas"]
    properties = models["CaptureRequest"]["properties"]
    fields = {name: within(schema, models) | ANYTHING for name, schema in properties.items() if name != "url"}
    fields["url"] = st.just(NOWHERE) | TEXT.map(lambda text: f"ftp:{text}") | ANYTHING
    seen: set[int] = set()
    taken = 0

    with httpx.Client(trust_env=False, timeout=60) as client:

        @settings(
            max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(
            st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=3, unique=True).flatmap(
                lambda names: st.fixed_dictionaries({name: fields[name] for name in names})
            )
        )
        def try_it(change: dict[str, Any]) -> None:
            nonlocal taken
            body = request(NOWHERE, "wacz") | change
            answer = client.post(f"{server.url}/captures", content=json.dumps(body))
            seen.add(answer.status_code)
            assert answer.status_code in (200, 400), (answer.status_code, answer.text, body)
            if answer.status_code == 400:
                assert answer.headers["x-amzn-errortype"] == "ValidationException"
                told = answer.json()["fieldList"]
                assert told
                for item in told:
                    assert points_into(body, item["path"], set(properties)), (item, body)
            else:
                taken += 1
                report = json.loads(path_of(answer.json()["manifest"]["location"]).read_bytes())
                assert report["errorDetails"]["type"] in ("connection", "policy"), report

        try_it()
    assert seen == {200, 400}
    assert taken > 20
    assert server.get("/status").json()["busy"] is False


def test_no_method_on_any_path_is_a_fault_of_ours(server: CaptureServer) -> None:
    with httpx.Client(trust_env=False, timeout=60) as client:
        for path in ("/captures", "/status", "/healthz", "/metrics", "/openapi.json", "/%00"):
            for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
                answer = client.request(method, f"{server.url}{path}", content=b"\xff{")
                assert answer.status_code < 500, (method, path, answer.text)
