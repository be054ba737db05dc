"""Source files: how the compiler asks for them, and one that it has."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from comity.extract.kdl.tree import Locator

Loader = Callable[[str], bytes]
"""Gives the bytes of a file by its path relative to the entry file's folder, with forward slashes (`../a/b.kdl`).

Raises OSError where it has none; nothing else.
"""
MAX_FILE_BYTES = 1024 * 1024
"""Size of one file of a program; a hand-written one has a few thousand bytes."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file that was read. `position` counts files in the order in which imports lead to them, the entry first."""

    file: str
    position: int
    locator: Locator
    sha256: str


def folder_loader(folder: Path) -> Loader:
    """Reads imports from the disk, relative to `folder`."""

    def load(path: str) -> bytes:
        return read_source(folder / PurePosixPath(path))

    return load


def read_source(path: Path) -> bytes:
    """The bytes of a regular file, one more than `MAX_FILE_BYTES` at most. Raises OSError for anything else."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a file")  # reading a device or a pipe could go on for ever
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)


def no_files(path: str) -> bytes:
    """The loader of programs that stand alone."""
    raise FileNotFoundError(f"{path} cannot be imported: this program was given without a folder or a loader")
