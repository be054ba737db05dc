"""Scripts as people keep them: a TypeScript file each, its options as JSON beside it.

What a script is, the file can say itself, in its first comment lines: `// id: look`, `// phase: preload`,
`// description: Looks around.` Otherwise its name is the id, and the folder that it lies in may be the phase.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from comity.cli.errors import BadInput
from comity.contract.ledger import AddScript
from comity.contract.scripts import INLINE_PREFIX, Phase

MAX_FILE_BYTES = 1024 * 1024
"""No crawl could run a longer one."""
PHASES: tuple[str, ...] = get_args(Phase)
_HEADER = re.compile(r"//\s*(id|phase|description):\s*(.*?)\s*")


@dataclass(frozen=True)
class ScriptFile:
    """A script and where it was read."""

    path: Path
    script: AddScript


def read_script(path: Path, typed: dict[str, Any], otherwise: dict[str, Any] | None = None) -> ScriptFile:
    """One script. `typed` (id, phase, options, description) beats what the file says, `otherwise` fills what it leaves.

    Raises BadInput naming the file.
    """
    source = _text(path)
    known = {"id": path.name.removesuffix(".ts")} | (otherwise or {}) | _header(source) | typed
    if known.get("options") is None:
        known["options"] = _options(path.with_suffix(".json"))
    if "phase" not in known:
        raise BadInput(f"{path}: in which phase does it run? Give --phase {'|'.join(PHASES)}, or `// phase: …` in it")
    if str(known["id"]).startswith(INLINE_PREFIX):
        raise BadInput(f"{path}: ids that begin with {INLINE_PREFIX} are reserved for scripts of one crawl")
    try:
        return ScriptFile(path, AddScript.model_validate({**known, "source": source}))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise BadInput(f"{path}: {field} {_short(problem['input'])}: {problem['msg']}") from None


def read_folder(folder: Path, phase: str | None) -> list[ScriptFile]:
    """Every `*.ts` of the folder and of its sub-folders `preload` and `behavior`, in id order. Raises BadInput.

    `phase` is that of files which neither say theirs nor lie in such a sub-folder.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: is no folder; one file goes in with `comity scripts add`")
    places = {folder: phase, **{folder / name: name for name in PHASES}}
    paths = [path for place in places for path in sorted(place.glob("*.ts")) if not path.name.endswith(".d.ts")]
    if not paths:
        raise BadInput(f"{folder}: has no *.ts in it, nor in {' or '.join(f'{name}/' for name in PHASES)}")
    found: dict[str, ScriptFile] = {}
    for path in paths:
        its_phase = places[path.parent]
        read = read_script(path, {}, {} if its_phase is None else {"phase": its_phase})
        twin = found.setdefault(read.script.id, read)
        if twin is not read:
            raise BadInput(f"{path}: is {read.script.id} too, like {twin.path}; nothing was added")
    return [found[ident] for ident in sorted(found)]


def parse_options(text: str, where: str) -> dict[str, Any]:
    """A JSON object. Raises BadInput that begins with `where`."""
    try:
        options = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{where}: not JSON: {error}") from None
    if not isinstance(options, dict):
        raise BadInput(f"{where}: options are a JSON object, {{...}}")
    return options


def _options(path: Path) -> dict[str, Any] | None:
    return parse_options(_text(path), str(path)) if path.is_file() else None


def _header(source: str) -> dict[str, str]:
    """What the comment lines at the very top say. Other comments mean nothing here."""
    said: dict[str, str] = {}
    for line in source.removeprefix("\ufeff").splitlines():
        if not line.startswith("//"):
            break
        if match := _HEADER.fullmatch(line.rstrip()):
            said.setdefault(match[1], match[2])
    return said


def _text(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise BadInput(f"{path}: is over {MAX_FILE_BYTES} bytes, which no crawl could run")
        return content.decode("utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: is not UTF-8") from None


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:79]}…"
