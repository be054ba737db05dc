"""The source packages that carry the suites, where this machine has them. Nothing of them is kept in the project."""

import os
import tarfile
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[4]
FOLDER = Path(os.environ.get("COMITY_SUITES") or REPOSITORY / ".suites")
KDL = FOLDER / "kdlquery-1.6.0.tar.gz"
HTML = FOLDER / "html5lib-1.1.tar.gz"


def needs(package: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        not package.is_file(), reason=f"no {package.name} in {package.parent}: `make suites` fetches it"
    )


@cache
def files_of(package: Path, folder: str) -> dict[str, bytes]:
    """The files below `folder` in the package by their path from there; none where the package is not here."""
    if not package.is_file():
        return {}
    root = f"{package.name.removesuffix('.tar.gz')}/{folder}/"
    found: dict[str, bytes] = {}
    with tarfile.open(package) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name.startswith(root) else None
            if file is not None:
                found[member.name.removeprefix(root)] = file.read()
    return found
