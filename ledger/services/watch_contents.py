"""Contents of watched pages in the artifact store: gzipped JSON under `watch/`, one file a content."""

import gzip
import json
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from comity.contract.watch import MAX_CONTENT_BYTES
from comity.contract.watch_queue import Content
from ledger import log
from ledger.artifacts.artifacts import Artifacts
from ledger.artifacts.place import NotRead

FOLDER = "watch"
FOLDERS = 1000
"""Pages are spread over so many folders: one with millions of entries is slow on most disks."""
MAX_FILE_BYTES = 8 * MAX_CONTENT_BYTES


@dataclass(frozen=True)
class Written:
    """Where a content lies."""

    location: str
    size_bytes: int


@dataclass(frozen=True)
class Read:
    """A content as it was reported."""

    text: str
    fields: dict[str, Any] | None


class WatchContents:
    """Writes contents before the rows that name them, and removes them after."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    def write(self, page: int, content: Content) -> Written:
        """Keep it, under a name of its own: who takes back what a repeat wrote must not take the first one's.

        Raises NotRead where the store does not take it.
        """
        said = json.dumps({"text": content.text, "fields": content.fields}, ensure_ascii=False, separators=(",", ":"))
        packed = gzip.compress(said.encode(), compresslevel=6, mtime=0)
        name = f"{FOLDER}/{page % FOLDERS:03d}/{page}/{content.sha256[:16]}-{secrets.token_hex(8)}.json.gz"
        return Written(self._artifacts.write(name, packed), len(packed))

    def read(self, location: str) -> Read:
        """The content at a location. Raises NotRead."""
        packed = self._artifacts.read(location, MAX_FILE_BYTES)
        found = json.loads(gzip.decompress(packed))
        return Read(found["text"], found["fields"])

    def remove(self, location: str) -> None:
        """Forget a content that nothing names any more. One that cannot be removed now is told to the log."""
        try:
            self._artifacts.remove(location)
        except NotRead as error:
            log.warning("watch_content_not_removed", location=location, why=str(error))

    def take_back(self, written: Written) -> None:
        """Remove what was written for a report that does not count."""
        with suppress(NotRead):
            self._artifacts.remove(written.location)
