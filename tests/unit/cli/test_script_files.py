"""Scripts as people keep them."""

from pathlib import Path
from typing import Any

import pytest

from comity.cli.errors import BadInput
from comity.cli.script_files import MAX_FILE_BYTES, parse_options, read_folder, read_script


def put(folder: Path, **files: str) -> Path:
    """Files by name; `__` stands for a slash and `_` for the dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def test_folder_is_read_by_names_sub_folders_headers_and_options(tmp_path: Path) -> None:
    put(
        tmp_path,
        zebra_ts="1",
        zebra_json='{"a": 1}',
        preload__early_ts="// early: comes first\n2",
        behavior__x_ts="// id: named\n// description: Looks around.\n// phase: preload\n3\n// phase: behavior\n",
        behavior__late_ts="\n// phase: preload\n4",
        types_d_ts="declare const x: 1",
        other__not_ts="5",
        catalogue_json="[]",
    )
    found = [file.script for file in read_folder(tmp_path, "behavior")]
    assert [(script.id, script.phase, script.options, script.description) for script in found] == [
        ("early", "preload", None, ""),
        ("late", "behavior", None, ""),
        ("named", "preload", None, "Looks around."),
        ("zebra", "behavior", {"a": 1}, ""),
    ]
    assert found[0].source == "// early: comes first\n2"


def test_what_is_typed_beats_the_file_and_otherwise_fills_in(tmp_path: Path) -> None:
    path = put(tmp_path, look_ts="// id: other\n// phase: preload\n1", look_json='{"a": 1}') / "look.ts"
    assert read_script(path, {"id": "mine", "options": {"b": 2}}, {"phase": "behavior"}).script.model_dump() == {
        "id": "mine",
        "phase": "preload",
        "source": "// id: other\n// phase: preload\n1",
        "options": {"b": 2},
        "description": "",
    }
    assert read_script(path, {}).script.id == "other"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a_ts": "1"}, "a.ts: in which phase does it run? Give --phase preload|behavior"),
        ({"a_ts": "// phase: late\n1"}, "a.ts: phase 'late'"),
        ({"preload__A b_ts": "1"}, "A b.ts: id 'A b'"),
        ({"preload__inline-a_ts": "1"}, "inline-a.ts: ids that begin with inline- are reserved"),
        ({"preload__a_ts": ""}, "a.ts: source ''"),
        ({"preload__a_ts": "1", "preload__a_json": "{"}, "a.json: not JSON"),
        ({"preload__a_ts": "1", "preload__a_json": "[]"}, "a.json: options are a JSON object"),
        ({"preload__a_ts": "x" * (MAX_FILE_BYTES + 1)}, "a.ts: is over 1048576 bytes"),
        ({"preload__a_ts": "1", "behavior__a_ts": "2"}, "a.ts: is a too, like "),
        ({"notes_txt": "1"}, "has no *.ts in it, nor in preload/ or behavior/"),
    ],
)
def test_folder_with_one_bad_file_is_refused_naming_it(tmp_path: Path, files: dict[str, str], words: str) -> None:
    put(tmp_path, **files)
    with pytest.raises(BadInput) as refusal:
        read_folder(tmp_path, None)
    assert words in str(refusal.value)
    assert len(str(refusal.value)) < 400
    assert refusal.value.exit_code == 2


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing\\.ts: cannot be read"):
        read_script(tmp_path / "nothing.ts", {})
    with pytest.raises(BadInput, match="is no folder"):
        read_folder(tmp_path / "nothing", None)
    (tmp_path / "bytes.ts").write_bytes(b"\xff")
    with pytest.raises(BadInput, match="bytes\\.ts: is not UTF-8"):
        read_script(tmp_path / "bytes.ts", {})


@pytest.mark.parametrize(("text", "options"), [("{}", {}), ('{"a": [1]}', {"a": [1]})])
def test_options_are_a_json_object(text: str, options: dict[str, Any]) -> None:
    assert parse_options(text, "--options") == options
