"""Which build this is: the version, and a revision that follows from the source itself, checkout or not."""

import hashlib
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from comity.contract.capture import Build
from comity.contract.wire import rfc3339


def this_build() -> Build:
    """Version of the distribution, hash of the room's source files, time of the newest of them."""
    try:
        number = version("comity")
    except PackageNotFoundError:
        number = "0"
    digest = hashlib.sha256()
    newest = 0.0
    room = Path(__file__).parent
    for source in sorted([*room.rglob("*.py"), *room.rglob("*.js"), *(room.parent / "archive").rglob("*.py")]):
        digest.update(source.read_bytes())
        newest = max(newest, source.stat().st_mtime)
    moment = datetime.fromtimestamp(newest, UTC)
    return Build(version=number, revision=f"source-{digest.hexdigest()[:12]}", build_time=rfc3339(moment))
