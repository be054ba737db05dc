"""Capture targets and the script catalogue."""

import json
from pathlib import Path
from typing import Any

import pytest

from comity.contract.scripts import sha256_of
from ledger.errors import SettingsRefused
from tests.integration.ledger.desk import Desk, Json

URL = "http://127.0.0.2/"
SCRIPT: Json = {"id": "look", "phase": "behavior", "source": "1", "options": {"a": 1}, "description": "Looks."}


def test_targets_are_added_listed_changed_and_removed(desk: Desk) -> None:
    added = desk.post("/api/targets", {"urls": [URL + "a", URL + "b#x", URL + "a"], "labels": ["x"]}, 201)["targets"]
    assert [(target["url"], target["enabled"], target["labels"]) for target in added] == [
        (URL + "a", True, ["x"]),
        (URL + "b", True, ["x"]),
    ]
    again = desk.post("/api/targets", {"urls": [URL + "b", URL + "c"], "labels": ["y"]}, 201)["targets"]
    assert again[0] == added[1]
    assert [target["url"] for target in desk.get("/api/targets")["targets"]] == [URL + "a", URL + "b", URL + "c"]
    path = f"/api/targets/{added[0]['id']}"
    assert desk.client.patch(path, json={"enabled": False}).json() == {**added[0], "enabled": False}
    assert desk.client.patch(path, json={"labels": []}).json() == {**added[0], "enabled": False, "labels": []}
    assert desk.client.delete(path).status_code == 204
    assert desk.client.delete(path).status_code == 404
    assert desk.client.patch(path, json={"enabled": True}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"urls": [URL, "ftp://127.0.0.2/"]}, "urls.1"),
        ({"urls": []}, "urls"),
        ({}, "urls"),
        ({"urls": [URL], "labels": [""]}, "labels.0"),
        ({"urls": [URL], "enabled": True}, "enabled"),
        ({"urls": [URL], "targets": [{"url": URL}]}, "targets"),
        ({"targets": []}, "targets"),
        ({"targets": [{"url": URL}, {"url": "nonsense"}]}, "targets.1.url"),
        ({"targets": [{"url": URL, "labels": ["x", ""]}]}, "targets.0.labels.1"),
        ({"targets": [{"url": URL, "labels": ["own"]}], "labels": [str(n) for n in range(20)]}, "targets.0.labels"),
    ],
)
def test_one_bad_target_adds_none(desk: Desk, body: Json, field: str) -> None:
    refusal = desk.post("/api/targets", body, 400)
    assert refusal["fields"][0]["field"] == field
    assert desk.get("/api/targets")["targets"] == []


def test_targets_have_labels_of_their_own_and_are_found_by_them(desk: Desk) -> None:
    order = {"targets": [{"url": URL + "a", "labels": ["x", "y"]}, {"url": URL + "b"}], "labels": ["all", "x"]}
    added = desk.post("/api/targets", order, 201)
    assert [(target["labels"]) for target in added["targets"]] == [["all", "x", "y"], ["all", "x"]]
    assert added["added"] == 2
    again = desk.post("/api/targets", {"urls": [URL + "b", URL + "c"]}, 201)
    assert (again["added"], again["targets"][0]) == (1, added["targets"][1])
    desk.client.patch(f"/api/targets/{again['targets'][1]['id']}", json={"enabled": False})
    for query, urls in (
        ({}, "abc"),
        ({"label": "x"}, "ab"),
        ({"label": ["x", "y"]}, "a"),
        ({"label": "X"}, ""),
        ({"enabled": "false"}, "c"),
        ({"enabled": "true", "label": "y"}, "a"),
    ):
        found = desk.get("/api/targets", 200, **query)["targets"]
        assert [target["url"] for target in found] == [URL + name for name in urls], query
    desk.get("/api/targets", 400, enabled="perhaps")


def test_script_is_shown_with_its_source_by_version(desk: Desk) -> None:
    first = desk.post("/api/scripts", SCRIPT, 201)
    second = desk.post("/api/scripts", {**SCRIPT, "source": "2"}, 201)
    assert desk.get("/api/scripts/look") == {**second, "source": "2", "versions": [1, 2]}
    assert desk.get("/api/scripts/look", version=1) == {**first, "source": "1", "versions": [1, 2]}
    desk.get("/api/scripts/look", 404, version=3)
    desk.get("/api/scripts/look", 400, version=0)
    desk.get("/api/scripts/other", 404)
    desk.client.delete("/api/scripts/look")
    desk.get("/api/scripts/look", 404)


def test_script_versions_grow_and_the_same_bytes_reuse_theirs(desk: Desk) -> None:
    first = desk.post("/api/scripts", SCRIPT, 201)
    assert (first["version"], first["sha256"], first["enabled"]) == (1, sha256_of("1"), True)
    assert "source" not in first
    assert desk.post("/api/scripts", SCRIPT, 200) == first
    changes: list[Json] = [{"source": "2"}, {"phase": "preload"}, {"options": None}]
    for place, change in enumerate(changes, start=2):
        assert desk.post("/api/scripts", {**SCRIPT, **change}, 201)["version"] == place
    assert [(script["id"], script["version"]) for script in desk.get("/api/scripts")["scripts"]] == [("look", 4)]


def test_script_removed_and_added_again_never_reuses_a_version(desk: Desk) -> None:
    desk.post("/api/scripts", SCRIPT, 201)
    assert desk.client.delete("/api/scripts/look").status_code == 204
    assert desk.get("/api/scripts")["scripts"] == []
    assert desk.client.patch("/api/scripts/look", json={"enabled": True}).status_code == 404
    back = desk.post("/api/scripts", {**SCRIPT, "source": "2"}, 201)
    assert (back["version"], back["enabled"]) == (2, True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "inline-look"}, "id"),
        ({"id": "Look"}, "id"),
        ({"id": "x" * 65}, "id"),
        ({"phase": "late"}, "phase"),
        ({"source": ""}, "source"),
        ({"source": "x" * (1024 * 1024 + 1)}, "source"),
        ({"options": []}, "options"),
    ],
)
def test_bad_script_is_refused_by_its_field(desk: Desk, change: Json, field: str) -> None:
    assert desk.post("/api/scripts", {**SCRIPT, **change}, 400)["fields"][0]["field"] == field


def _ship(desk: Desk, folder: Path, source: str, **change: Any) -> None:
    folder.mkdir(exist_ok=True)
    entry: Json = {
        "id": "look",
        "phase": "behavior",
        "file": "look.ts",
        "options": {"a": 1},
        "description": "Looks.",
        **change,
    }
    (folder / "look.ts").write_text(source, "utf-8")
    (folder / "catalogue.json").write_text(json.dumps({"scripts": [entry]}), "utf-8")
    desk.parts.scripts.ship(folder)


def test_shipped_scripts_become_new_versions_only_when_they_change(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "catalogue"
    for source in ("one", "one", "two"):
        _ship(desk, folder, source)
    [script] = desk.get("/api/scripts")["scripts"]
    assert (script["version"], script["sha256"]) == (2, sha256_of("two"))
    _ship(desk, folder, "two", options={"a": 2})
    assert desk.get("/api/scripts")["scripts"][0]["version"] == 3


def test_shipping_respects_what_the_operator_decided(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "catalogue"
    _ship(desk, folder, "one")
    own = desk.post("/api/scripts", {**SCRIPT, "source": "own"}, 201)
    desk.client.patch("/api/scripts/look", json={"enabled": False})
    _ship(desk, folder, "one")
    assert desk.get("/api/scripts")["scripts"] == [{**own, "enabled": False}]
    desk.client.delete("/api/scripts/look")
    _ship(desk, folder, "two")
    assert desk.get("/api/scripts")["scripts"] == []


def test_shipping_from_an_empty_folder_does_nothing_and_a_broken_one_is_refused(desk: Desk, tmp_path: Path) -> None:
    desk.parts.scripts.ship(tmp_path)
    (tmp_path / "catalogue.json").write_text('{"scripts": [{"id": "look"}]}')
    with pytest.raises(SettingsRefused, match="catalogue"):
        desk.parts.scripts.ship(tmp_path)
