"""Every field of a request, made wrong in every way that its description forbids: a 400 with the pointer to just there.

The fields come from the server's OpenAPI description; each is wrong alone in a request that is right in all else.
Beside them what `schemathesis` makes of the same description.
"""

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from tests.integration.capture.server import CaptureServer

pytestmark = pytest.mark.browser

Schema = dict[str, Any]
Place = tuple[str | int, ...]
SCRIPT = {"id": "a", "source": "1", "sha256": hashlib.sha256(b"1").hexdigest(), "options": {"a": 1}}
WHOLE: dict[str, Any] = {
    "url": "http://127.0.0.1:9/",
    "captureFormats": dict.fromkeys(("png", "webp", "html", "links", "mhtml", "wacz"), True),
    "labels": ["one"],
    "correlationId": "c1",
    "acceptLanguage": "de",
    "signing": False,
    "trace": False,
    "dismissBanners": {
        "spec": {
            "useDefaults": True,
            "extraSelectors": ["#a"],
            "excludeFrameworks": ["onetrust"],
            "heuristic": {"enabled": True, "minViewportCoverageRatio": 0.5, "minZIndex": 1},
            "failOnError": False,
        }
    },
    "viewport": {"width": 100, "height": 100},
    "operationDelayMs": 1,
    "devicePixelRatios": [1],
    "fullPage": False,
    "session": "isolated",
    "maxResponseBytes": 1000,
    "urlPolicies": [{"pattern": "*x", "action": "deny"}],
    "contentTypePolicies": [{"prefix": "video/", "action": "no-body"}],
    "storageValues": False,
    "loadWait": {"minMs": 0, "maxMs": 1, "quietMs": 1, "networkConcurrency": 0},
    "behaviors": [SCRIPT],
    "preload": [SCRIPT | {"id": "b"}],
}
"""All fields but the sink, which this server's settings refuse."""
SINK = {"url": "http://127.0.0.1:9/", "token": "t"}
REMOVED = object()


@pytest.fixture(scope="module")
def models(server: CaptureServer) -> dict[str, Schema]:
    found: dict[str, Schema] = server.get("/openapi.json").json()["components"]["schemas"]
    return found


def test_each_field_made_wrong_alone_is_named_by_its_whole_pointer(
    server: CaptureServer, models: dict[str, Schema]
) -> None:
    whole = WHOLE | {"artifactSink": SINK}
    wrong = list(wrongs(models["CaptureRequest"], whole, models, ()))
    named = {pointer(place) for place, _, _ in wrong}
    assert named >= {pointer(place) for place in places(whole)}, "a field is not tried"
    with httpx.Client(trust_env=False, timeout=60) as client:
        for place, value, at in wrong:
            body = json.dumps(changed(whole, place, value)).encode()
            answer = client.post(f"{server.url}/captures", content=body)
            assert answer.status_code == 400, (place, value, answer.text)
            assert answer.headers["x-amzn-errortype"] == "ValidationException"
            assert [item["path"] for item in answer.json()["fieldList"]] == [pointer(at)], (place, value, answer.text)
    assert len(wrong) > 250


def test_whole_request_is_taken(server: CaptureServer) -> None:
    answer = server.post(WHOLE)
    assert answer.status_code == 200, answer.text
    assert answer.json()["report"]["errorDetails"]["type"] == "connection"


RULES: list[tuple[Place, Any, str]] = [
    (("loadWait", "minMs"), 2, "/loadWait/minMs"),
    (("loadWait", "quietMs"), 2, "/loadWait/quietMs"),
    (("devicePixelRatios",), [1, 1], "/devicePixelRatios"),
    (("captureFormats",), dict.fromkeys(WHOLE["captureFormats"], False), "/captureFormats"),
    (("dismissBanners", "enabled"), True, "/dismissBanners"),
    (("dismissBanners", "spec", "excludeFrameworks", 0), "nobody", "/dismissBanners/spec/excludeFrameworks/0"),
    (("behaviors", 0, "sha256"), "0" * 64, "/behaviors/0/sha256"),
    (("preload", 0, "source"), "2", "/preload/0/sha256"),
    (("labels",), ["灯" * 80], "/labels"),
    (("maxResponseBytes",), 2**40, "/maxResponseBytes"),
    (("signing",), True, "/signing"),
    (("session",), "shared", "/session"),
    (("artifactSink",), SINK, "/artifactSink/url"),
    (("url",), "ftp://127.0.0.1/", "/url"),
]


@pytest.mark.parametrize(("place", "value", "path"), RULES, ids=[f"{path}-{n}" for n, (_, _, path) in enumerate(RULES)])
def test_rule_that_no_description_tells_names_its_field(
    server: CaptureServer, place: Place, value: Any, path: str
) -> None:
    answer = server.post(changed(WHOLE, place, value))
    assert answer.status_code == 400, answer.text
    assert [item["path"] for item in answer.json()["fieldList"]] == [path]


def test_what_schemathesis_finds_against_the_description_is_refused(server: CaptureServer) -> None:
    description = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    wrong = description["/captures"]["POST"].as_strategy(generation_mode=GenerationMode.NEGATIVE)
    seen: list[int] = []

    @settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(wrong)
    def try_it(case: schemathesis.Case[Any]) -> None:
        answer = case.call(timeout=60)
        seen.append(answer.status_code)
        assert answer.status_code in (400, 413), (answer.text, case.body)
        assert answer.headers["x-amzn-errortype"]
        assert answer.json()["message"]

    try_it()
    assert len(seen) > 100


def wrongs(schema: Schema, value: Any, models: dict[str, Schema], place: Place) -> Iterator[tuple[Place, Any, Place]]:
    """Where to change what into what, and where the refusal must point."""
    schema, nullable = plain(schema, models)
    for bad in wrong_values(schema, nullable=nullable):
        yield place, bad, place
    if isinstance(value, dict) and "properties" in schema:
        yield (*place, "stranger"), 1, (*place, "stranger")
        for name in schema.get("required", []):
            yield (*place, name), REMOVED, (*place, name)
        for name, part in schema["properties"].items():
            if name in value:
                yield from wrongs(part, value[name], models, (*place, name))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from wrongs(schema["items"], item, models, (*place, index))


def plain(schema: Schema, models: dict[str, Schema]) -> tuple[Schema, bool]:
    """The schema without references and `null`, and whether it may be null."""
    if "$ref" in schema:
        return plain(models[schema["$ref"].rpartition("/")[2]], models)
    kinds = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if kinds:
        (one,) = kinds
        return plain(one, models)[0], len(schema["anyOf"]) > len(kinds)
    return schema, False


def wrong_values(schema: Schema, *, nullable: bool) -> Iterator[Any]:
    kind = schema.get("type")
    examples: dict[str, Any] = {"string": "x", "integer": 7, "number": 0.25, "boolean": True, "array": [], "object": {}}
    for other, example in examples.items():
        if other != kind and (other, kind) != ("integer", "number") and not (kind == "number" and other == "boolean"):
            yield example
    if not nullable:
        yield None
    if kind == "integer":
        yield 0.5
    for name, by in (("minimum", -1), ("maximum", 1)):
        if name in schema:
            yield schema[name] + by
    if schema.get("minLength"):
        yield ""
    if "maxLength" in schema:
        yield "a" * (schema["maxLength"] + 1)
    if "pattern" in schema:
        yield "/\n"
    if "enum" in schema or "const" in schema:
        yield "neither"
    if schema.get("minItems"):
        yield []


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every field of a value, those of scripts' options aside: they are the script's own."""
    if place and place[-1] == "options":
        yield place
        return
    for name, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*place, name)
        yield from places(part, (*place, name))


def changed(whole: dict[str, Any], place: Place, value: Any) -> Any:
    if not place:
        return value
    body: Any = copy.deepcopy(whole)
    inner = body
    for name in place[:-1]:
        inner = inner[name]
    if value is REMOVED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return body


def pointer(place: Place) -> str:
    return "".join(f"/{part}" for part in place)
