"""Each field of a capture request: what is refused, with its pointer, beside what is taken."""

import json
from typing import Any

import pytest

from comity.capture.admission import Offer, admit, pointer
from comity.capture.errors import RequestRefusedError
from comity.contract.capture import CaptureRequest
from comity.contract.scripts import sha256_of

TASK = "t0123456789abcdef"
FORMATS = {"png": False, "webp": False, "html": True, "links": False, "mhtml": False, "wacz": False}
SCRIPT = {"id": "a", "source": "1", "sha256": sha256_of("1")}
LIMIT = 1000
OFFER = Offer(max_response_bytes=LIMIT, sink_prefixes=("https://sink.example/api/",))


def refused(change: dict[str, Any]) -> list[str]:
    with pytest.raises(RequestRefusedError) as caught:
        taken(change)
    return [problem.path for problem in caught.value.problems]


def taken(change: dict[str, Any]) -> CaptureRequest:
    body = {"url": "http://a.example/", "captureFormats": FORMATS} | change
    body = {name: value for name, value in body.items() if value is not ...}
    return admit(json.dumps(body).encode(), task_id=TASK, offer=OFFER)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"url": ...}, "/url"),
    ({"url": "ftp://a.example/"}, "/url"),
    ({"url": "a.example"}, "/url"),
    ({"url": "http://"}, "/url"),
    ({"url": "http://a.example/ b"}, "/url"),
    ({"url": "http://a.example:99999/"}, "/url"),
    ({"captureFormats": ...}, "/captureFormats"),
    ({"captureFormats": dict.fromkeys(FORMATS, False)}, "/captureFormats"),
    ({"captureFormats": {name: True for name in FORMATS if name != "png"}}, "/captureFormats/png"),
    ({"captureFormats": FORMATS | {"html": 1}}, "/captureFormats/html"),
    ({"captureFormats": FORMATS | {"gif": True}}, "/captureFormats/gif"),
    ({"stranger": 1}, "/stranger"),
    ({"labels": [""]}, "/labels/0"),
    ({"labels": ["a", "b/c"]}, "/labels/1"),
    ({"labels": ["a_b"]}, "/labels/0"),
    ({"labels": ["灯" * 80]}, "/labels"),
    ({"correlationId": "a_b"}, "/correlationId"),
    ({"correlationId": ""}, "/correlationId"),
    ({"acceptLanguage": "日本語"}, "/acceptLanguage"),
    ({"acceptLanguage": "a\r\nb"}, "/acceptLanguage"),
    ({"acceptLanguage": "a" * 201}, "/acceptLanguage"),
    ({"signing": True}, "/signing"),
    ({"signing": True, "captureFormats": FORMATS | {"wacz": True}}, "/signing"),
    ({"trace": 1}, "/trace"),
    ({"dismissBanners": {"enabled": True, "spec": {}}}, "/dismissBanners"),
    ({"dismissBanners": {"spec": {"excludeFrameworks": ["nobody"]}}}, "/dismissBanners/spec/excludeFrameworks/0"),
    ({"dismissBanners": {"spec": {"extraSelectors": [""]}}}, "/dismissBanners/spec/extraSelectors/0"),
    ({"dismissBanners": {}}, "/dismissBanners"),
    ({"viewport": {"width": 0, "height": 1}}, "/viewport/width"),
    ({"viewport": {"width": 10}}, "/viewport/height"),
    ({"operationDelayMs": -1}, "/operationDelayMs"),
    ({"operationDelayMs": 5001}, "/operationDelayMs"),
    ({"operationDelayMs": "5"}, "/operationDelayMs"),
    ({"devicePixelRatios": []}, "/devicePixelRatios"),
    ({"devicePixelRatios": [4]}, "/devicePixelRatios/0"),
    ({"devicePixelRatios": [1, 1]}, "/devicePixelRatios"),
    ({"fullPage": "yes"}, "/fullPage"),
    ({"session": "shared"}, "/session"),
    ({"session": "other"}, "/session"),
    ({"maxResponseBytes": 0}, "/maxResponseBytes"),
    ({"maxResponseBytes": LIMIT + 1}, "/maxResponseBytes"),
    ({"urlPolicies": [{"pattern": "*", "action": "allow"}]}, "/urlPolicies/0/action"),
    ({"contentTypePolicies": [{"prefix": "", "action": "no-body"}]}, "/contentTypePolicies/0/prefix"),
    ({"storageValues": True}, "/storageValues"),
    ({"artifactSink": {"url": "http://a.example/", "token": "t"}}, "/artifactSink/url"),
    ({"artifactSink": {"url": "https://sink.example/api"}}, "/artifactSink/token"),
    ({"loadWait": {"minMs": 2, "maxMs": 1, "quietMs": 0}}, "/loadWait/minMs"),
    ({"loadWait": {"minMs": 0, "maxMs": 1, "quietMs": 2}}, "/loadWait/quietMs"),
    ({"loadWait": {"minMs": 0, "maxMs": 60001}}, "/loadWait/maxMs"),
    ({"loadWait": {"networkConcurrency": 101}}, "/loadWait/networkConcurrency"),
    ({"behaviors": [SCRIPT | {"sha256": sha256_of("2")}]}, "/behaviors/0/sha256"),
    ({"preload": [SCRIPT | {"sha256": "x"}]}, "/preload/0/sha256"),
    ({"preload": [SCRIPT | {"id": "Upper"}]}, "/preload/0/id"),
    ({"behaviors": [SCRIPT, SCRIPT]}, "/behaviors/1/id"),
]


@pytest.mark.parametrize(
    ("change", "path"), REFUSED, ids=[f"{path}-{number}" for number, (_, path) in enumerate(REFUSED)]
)
def test_bad_field_is_refused_by_its_pointer(change: dict[str, Any], path: str) -> None:
    assert refused(change) == [path]


TAKEN: list[dict[str, Any]] = [
    {},
    {"url": "https://a.example:8443/a?b=c#d"},
    {"captureFormats": dict.fromkeys(FORMATS, True)},
    {"labels": ["a-b", "灯台"], "correlationId": "c1.p1.1.1"},
    {"labels": ["灯" * 70]},
    {"acceptLanguage": "a" * 200},
    {"signing": False, "trace": False, "storageValues": False},
    {"trace": True},
    {"storageValues": True, "captureFormats": FORMATS | {"wacz": True}},
    {"dismissBanners": {"enabled": False}},
    {"dismissBanners": {"enabled": True}},
    {"dismissBanners": {"spec": {"useDefaults": False, "excludeFrameworks": ["onetrust"]}}},
    {"viewport": {"width": 1, "height": 16384}},
    {"operationDelayMs": 0},
    {"operationDelayMs": 5000},
    {"devicePixelRatios": [3, 1, 2]},
    {"fullPage": True},
    {"session": "isolated"},
    {"maxResponseBytes": LIMIT},
    {"urlPolicies": [{"pattern": "*x*", "action": action} for action in ("deny", "no-archive", "no-body")]},
    {"urlPolicies": []},
    {"contentTypePolicies": [{"prefix": "video/", "action": "no-body"}]},
    {"loadWait": {"minMs": 1, "maxMs": 1, "quietMs": 1, "networkConcurrency": 100}},
    {"behaviors": [SCRIPT | {"sha256": sha256_of("1").upper(), "options": {"a": [1]}}]},
    {"artifactSink": {"url": "https://sink.example/api/c1", "token": "t"}},
    {"preload": [SCRIPT], "behaviors": [SCRIPT | {"id": "b"}]},
]


@pytest.mark.parametrize("change", TAKEN, ids=[str(list(change)) for change in TAKEN])
def test_good_field_is_taken(change: dict[str, Any]) -> None:
    assert taken(change).url


def test_every_problem_is_named_at_once() -> None:
    assert set(refused({"url": "x", "trace": 1, "fullPage": 2})) == {"/url", "/trace", "/fullPage"}


def test_rule_over_several_fields_names_the_one_it_is_about() -> None:
    assert refused({"signing": True}) == ["/signing"]


def test_hash_message_tells_the_right_hash() -> None:
    with pytest.raises(RequestRefusedError, match=sha256_of("1")):
        taken({"behaviors": [SCRIPT | {"sha256": "0" * 64}]})


@pytest.mark.parametrize(("loc", "expected"), [((), ""), (("a", 0), "/a/0"), (("a/b", "c~d"), "/a~1b/c~0d")])
def test_pointer_escapes_as_the_rfc_says(loc: tuple[str | int, ...], expected: str) -> None:
    assert pointer(loc) == expected
