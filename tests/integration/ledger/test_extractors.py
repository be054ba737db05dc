"""The extractor catalogue: programs with all their files, checked when they come."""

import hashlib

import pytest

from tests.fakes.extractor_programs import VERSION, program
from tests.integration.ledger.desk import Desk, Json
from tests.integration.ledger.extracting import add

IMPORTS = 'import "./shared/text.kdl" as="text"\n'
MODULE = (
    f'module "text" version="{VERSION}" language-version="{VERSION}" {{\n'
    '  transform "clean" input="string" output="string" { pipeline { apply "trim" } }\n}\n'
)
FIELD = 'field "h1" type="string" { select "h1"; value "text"; apply "text.clean" }'


def test_versions_grow_and_the_same_files_reuse_theirs(desk: Desk) -> None:
    first = add(desk, description="The title.")
    source = program("facts").encode()
    listing = f"{hashlib.sha256(source).hexdigest()}  extractor.kdl\n".encode()
    assert (first["version"], first["name"], first["enabled"]) == (1, "facts", True)
    assert first["sha256"] == hashlib.sha256(listing).hexdigest()
    assert add(desk, status=200, description="The title.") == first
    assert add(desk, source=program("other"))["version"] == 2
    assert add(desk, source=program("other"), file="page.kdl")["version"] == 3
    [listed] = desk.get("/api/extractors")["extractors"]
    assert (listed["id"], listed["version"], listed["name"]) == ("facts", 3, "other")
    shown = desk.get("/api/extractors/facts", version=1)
    assert (shown["source"], shown["modules"], shown["versions"]) == (program("facts"), [], [1, 2, 3])
    desk.get("/api/extractors/facts", 404, version=4)


def test_an_extractor_and_its_modules_are_one_unit(desk: Desk) -> None:
    module = {"path": "shared/text.kdl", "source": MODULE}
    source = program("facts", FIELD, imports=IMPORTS)
    assert add(desk, source=source, modules=[module])["version"] == 1
    assert desk.get("/api/extractors/facts")["modules"] == [module]
    assert add(desk, source=source, modules=[module], status=200)["version"] == 1
    changed = {**module, "source": MODULE + "\n// a word\n"}
    assert add(desk, source=source, modules=[changed])["version"] == 2


def test_removed_and_disabled_ones_are_not_pinned_and_a_version_is_never_used_again(desk: Desk) -> None:
    add(desk)
    changed = desk.client.patch("/api/extractors/facts", json={"enabled": False}).json()
    assert changed["enabled"] is False
    start = {"seeds": ["http://127.0.0.2/"], "extractors": [{"id": "facts", "urlPattern": "."}]}
    refusal = desk.post("/api/crawls", start, 400)
    assert (refusal["fields"][0]["field"], "disabled" in refusal["error"]) == ("extractors.0.id", True)
    assert desk.client.delete("/api/extractors/facts").status_code == 204
    assert desk.get("/api/extractors")["extractors"] == []
    for path in ("/api/extractors/facts",):
        assert desk.client.get(path).status_code == desk.client.delete(path).status_code == 404
    back = add(desk, source=program("again"))
    assert (back["version"], back["enabled"]) == (2, True)
    desk.post("/api/crawls", start, 202)


def test_mistakes_come_back_with_their_places(desk: Desk) -> None:
    wrong = program(
        "facts", 'field "a" type="text" { value "text" }\n  field "b" type="int" { select "p:hover"; value "text" }'
    )
    refusal = desk.post("/api/extractors", {"id": "facts", "source": wrong, "file": "page.kdl"}, 400)
    assert refusal["code"] == "extractor-rejected"
    found = {(one["code"], one["span"]["start"]["line"], one["span"]["file"]) for one in refusal["diagnostics"]}
    assert ("E_SELECTOR_UNSUPPORTED", 5, "page.kdl") in found
    assert any(line == 4 for _, line, _ in found)
    assert [field["field"] for field in refusal["fields"]] == ["source"] * len(refusal["fields"])
    assert refusal["fields"][0]["message"].startswith("page.kdl:4:")
    assert desk.get("/api/extractors")["extractors"] == []


def test_a_mistake_in_a_module_names_the_module(desk: Desk) -> None:
    module = {"path": "shared/text.kdl", "source": MODULE.replace('"trim"', '"trimm"')}
    source = program("facts", FIELD, imports=IMPORTS)
    refusal = desk.post("/api/extractors", {"id": "facts", "source": source, "modules": [module]}, 400)
    assert refusal["fields"][0]["field"] == "modules.0.source"
    assert refusal["fields"][0]["message"].startswith("shared/text.kdl:2:")


SESSION = 'source "html" { fetch mode="http" url="https://example.org/"; session policy="required" }'
WORKFLOW = 'source "html" { fetch mode="browser" url="https://example.org/"; workflow { click "a" } }'
BROWSER = 'source "html" { fetch mode="browser" url="https://example.org/" }'


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (program("facts", source=SESSION), "session"),
        (program("facts", source=WORKFLOW), "workflow"),
        (program("facts", 'transform "t" input="string" output="string" { external symbol="x.y" }'), "x.y"),
        (
            program(
                "facts", 'field "a" type="string" { evaluate-js "1" returns="string" scope="document" }', source=BROWSER
            ),
            "JavaScript",
        ),
    ],
)
def test_programs_whose_secrets_or_code_have_no_home_here_are_refused_with_the_reason(
    desk: Desk, source: str, words: str
) -> None:
    refusal = desk.post("/api/extractors", {"id": "facts", "source": source}, 400)
    assert refusal["fields"][0]["field"] == "source"
    assert words in refusal["error"]
    assert desk.get("/api/extractors")["extractors"] == []


def test_a_browser_program_without_workflow_and_an_optional_session_are_taken(desk: Desk) -> None:
    optional = SESSION.replace("required", "optional")
    assert add(desk, source=program("facts", source=BROWSER))["version"] == 1
    assert add(desk, source=program("facts", source=optional))["version"] == 2


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "Facts"}, "id"),
        ({"id": "x" * 65}, "id"),
        ({"source": ""}, "source"),
        ({"source": "x" * (1024 * 1024 + 1)}, "source"),
        ({"file": "a/b.kdl"}, "file"),
        ({"modules": [{"path": "/etc/passwd", "source": "x"}]}, "modules.0.path"),
        ({"modules": [{"path": "a/../b", "source": "x"}]}, "modules.0.path"),
        ({"modules": [{"path": "unused.kdl", "source": MODULE}]}, "modules.0.path"),
        ({"modules": [{"path": "extractor.kdl", "source": MODULE}]}, "modules.0.path"),
        ({"source": program("facts", FIELD, imports=IMPORTS)}, "modules"),
        ({"options": {}}, "options"),
    ],
)
def test_bad_extractor_is_refused_by_its_field(desk: Desk, change: Json, field: str) -> None:
    refusal = desk.post("/api/extractors", {"id": "facts", "source": program("facts"), **change}, 400)
    assert refusal["fields"][0]["field"] == field
