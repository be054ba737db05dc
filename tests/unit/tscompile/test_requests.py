"""Requests, and the refusals that they earn."""

import json
from typing import Any

import pytest

from comity.contract.scripts import MAX_SCRIPTS, sha256_of
from comity.tscompile.errors import HashMismatch, Invalid
from comity.tscompile.requests import read_request


def script(**changes: Any) -> dict[str, Any]:
    source = changes.get("source", "let a = 1;")
    made = {"id": "a", "version": 1, "phase": "behavior", "source": source, "sha256": ""} | changes
    if made["sha256"] == "" and isinstance(source, str):
        made["sha256"] = sha256_of(source)
    return made


def body(*scripts: Any) -> bytes:
    return json.dumps({"scripts": scripts}).encode()


def test_good_request_is_read_whole() -> None:
    asked = read_request(body(script(options={"deep": [None, 1.0, {"あ": 10**30}]}), script(id="b-2", source="// あ𝒳")))
    assert [(source.id, source.text) for source in asked.sources] == [("a", "let a = 1;"), ("b-2", "// あ𝒳")]
    assert asked.as_sent[0]["options"] == {"deep": [None, 1.0, {"あ": 10**30}]}


@pytest.mark.parametrize("count", [0, 1, MAX_SCRIPTS])
def test_number_of_scripts_up_to_the_limit_passes(count: int) -> None:
    assert len(read_request(body(*(script(id=f"s{n}") for n in range(count)))).sources) == count


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        (body(*(script(id=f"s{n}") for n in range(MAX_SCRIPTS + 1))), "/scripts"),
        (b"{}", "/scripts"),
        (b"[]", ""),
        (b"{", ""),
        (b"\xff", ""),
        (b'{"scripts": [], "a/b~c": 1}', "/a~1b~0c"),
        (b'{"scripts": NaN}', ""),
        (b'{"scripts": 1e999}', ""),
        (b'{"scripts": ' + b"[" * 100_000, ""),
        (body(script(id="A")), "/scripts/0/id"),
        (body(script(id="../a")), "/scripts/0/id"),
        (body(script(id="a\n")), "/scripts/0/id"),
        (body(script(id="a" * 65)), "/scripts/0/id"),
        (body(script(), script(id="b", sha256=sha256_of("let a = 1;").upper())), "/scripts/1/sha256"),
        (body(script(sha256="ab")), "/scripts/0/sha256"),
        (body(script(version="1")), "/scripts/0/version"),
        (body(script(version=0)), "/scripts/0/version"),
        (body(script(phase="later")), "/scripts/0/phase"),
        (body(script(source=1, sha256="0" * 64)), "/scripts/0/source"),
        (body(script(source="\ud800", sha256="0" * 64)), "/scripts/0/source"),
        (body(script(options=[1])), "/scripts/0/options"),
        (body(script(extra=1)), "/scripts/0/extra"),
        (body(script(), script(id="b"), script()), "/scripts/2/id"),
    ],
)
def test_bad_request_is_refused_with_a_pointer(sent: bytes, path: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_request(sent)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert (caught.value.status, caught.value.kind) == (400, "ValidationException")


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(Invalid) as caught:
        read_request(body(script(id="A", phase="x"), script(version=-1)))
    assert [each.path for each in caught.value.problems] == ["/scripts/0/id", "/scripts/0/phase", "/scripts/1/version"]
    assert "and 2 more" in caught.value.message


def test_longest_id_passes() -> None:
    assert read_request(body(script(id="a" * 64))).sources[0].id == "a" * 64


def test_hash_of_another_source_is_refused_and_names_the_script() -> None:
    with pytest.raises(HashMismatch) as caught:
        read_request(body(script(), script(id="b", sha256=sha256_of("other"))))
    assert caught.value.script_id == "b"
    assert caught.value.body()["id"] == "b"


def test_hash_is_over_utf8_bytes() -> None:
    of_c3_a9 = "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    of_latin1_e9 = "de2e331d891ae267a7009cb45b4e8830f170e0c937288ea2731a1941c7a53b0d"
    assert read_request(body(script(source="é", sha256=of_c3_a9))).sources[0].text == "é"
    with pytest.raises(HashMismatch):
        read_request(body(script(source="é", sha256=of_latin1_e9)))
