"""How a list of scripts becomes one program for the native compiler: its options and its folder.

The folder holds `host.d.ts`, `tsconfig.json` and `src/<id>.ts`; ids are checked before they come here
(`^[a-z][a-z0-9-]*$`), so that no name leaves `src` or meets `host.d.ts`. The compiler runs inside `src`.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

SOURCES, EMITTED = "src", "out"


@dataclass(frozen=True, slots=True)
class Source:
    """One script: its id and its TypeScript."""

    id: str
    text: str

    @property
    def file(self) -> str:
        """The name that diagnostics call it."""
        return f"{self.id}.ts"


COMPILER_OPTIONS: dict[str, Any] = {
    "target": "es2023",
    "lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
    "strict": True,
    "erasableSyntaxOnly": True,
    "removeComments": False,
    "newLine": "lf",
    # The oldest module kind: it knows neither `import()` nor `import.meta` nor top-level `await`, and says so.
    "module": "es2015",
    "moduleResolution": "bundler",
    "moduleDetection": "legacy",
    # No file but those listed is ever read: references and imports are not followed, no @types are looked for.
    "noResolve": True,
    "types": [],
    "resolveJsonModule": False,
    "skipLibCheck": True,
    "noEmitOnError": True,
    "rootDir": SOURCES,
    "outDir": EMITTED,
}
"""What every script is checked and emitted with. Part of the cache key."""


def host_types() -> bytes:
    """The declarations of `__bh` that every program sees."""
    return resources.files("comity.tscompile").joinpath("host.d.ts").read_bytes()


def host_types_tag(declarations: bytes) -> str:
    """Names the exact host types: 12 hex digits of their SHA-256."""
    return hashlib.sha256(declarations).hexdigest()[:12]


def write_program(folder: Path, sources: Sequence[Source], declarations: bytes, *, emit: bool) -> None:
    """Lays the program down in the empty `folder`."""
    (folder / SOURCES).mkdir()
    (folder / "host.d.ts").write_bytes(declarations)
    for source in sources:
        (folder / SOURCES / source.file).write_bytes(source.text.encode("utf-8"))
    config = {
        "compilerOptions": COMPILER_OPTIONS | {"noEmit": not emit},
        "files": ["host.d.ts", *(f"{SOURCES}/{source.file}" for source in sources)],
    }
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")


def read_emitted(folder: Path, sources: Sequence[Source]) -> list[str]:
    """The JavaScript of each source, in the same order. Raises OSError where one is missing."""
    return [(folder / EMITTED / f"{source.id}.js").read_bytes().decode("utf-8") for source in sources]


def emitted_bytes(folder: Path) -> int:
    """What the compiler wrote, in bytes."""
    return sum(path.stat().st_size for path in (folder / EMITTED).glob("*.js"))
