"""Results by content: what the same compiler made of the same sources before."""

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from comity.contract.scripts import sha256_of
from comity.tscompile.errors import CacheUnusable
from comity.tscompile.program import COMPILER_OPTIONS, Source

log = logging.getLogger(__name__)

_SHAPE = 1
"""Raised when what a key or an entry means changes."""


def cache_key(typescript: str, host_types: bytes, sources: Sequence[Source]) -> str:
    """Everything that decides the JavaScript, and nothing else: a script's version, phase and options do not."""
    facts = [
        _SHAPE,
        typescript,
        hashlib.sha256(host_types).hexdigest(),
        COMPILER_OPTIONS,
        [[source.id, sha256_of(source.text)] for source in sources],
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("utf-8")).hexdigest()


class ResultCache:
    """The last `max_results` results in memory, and in `folder` where one is given.

    The folder only saves time: an entry that cannot be read, or whose digest is not that of its content, is a miss,
    and a folder that cannot be written is a line in the log. Raises CacheUnusable where the folder cannot be made, or
    where others may write in it: what lies there is run in pages.
    """

    def __init__(self, max_results: int, folder: Path | None = None) -> None:
        self._max_results = max_results
        self._folder = folder
        self._results: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        if folder is not None:
            _make_private(folder)

    def get(self, key: str) -> tuple[str, ...] | None:
        """The JavaScript of each script in order, or None."""
        if key in self._results:
            self._results.move_to_end(key)
            return self._results[key]
        found = self._read(key)
        if found is not None:
            self._remember(key, found)
        return found

    def put(self, key: str, javascript: Sequence[str]) -> None:
        """Keeps a result."""
        if self._max_results == 0:
            return
        self._remember(key, tuple(javascript))
        if self._folder is not None:
            try:
                self._write(self._folder, key, list(javascript))
            except OSError as error:
                log.warning("TSCOMPILE_CACHE=%s cannot be written: %s", self._folder, error.strerror)

    def _remember(self, key: str, javascript: tuple[str, ...]) -> None:
        self._results[key] = javascript
        self._results.move_to_end(key)
        while len(self._results) > self._max_results:
            self._results.popitem(last=False)

    def _read(self, key: str) -> tuple[str, ...] | None:
        if self._folder is None:
            return None
        path = self._folder / f"{key}.json"
        try:
            entry = json.loads(path.read_bytes())
            javascript = [str(text) for text in entry["javascript"]]
            if entry["digest"] != _digest(javascript):
                raise ValueError("digest differs")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("cache entry %s is of no use (%s); compiling again", path, error)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return tuple(javascript)

    def _write(self, folder: Path, key: str, javascript: list[str]) -> None:
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"digest": _digest(javascript), "javascript": javascript}, file)
            part.replace(folder / f"{key}.json")
        finally:
            part.unlink(missing_ok=True)
        by_age = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in by_age[self._max_results :]:
            path.unlink(missing_ok=True)


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.stat()
    except OSError as error:
        raise CacheUnusable(f"TSCOMPILE_CACHE={folder} cannot be used as a folder: {error.strerror}") from error
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        raise CacheUnusable(f"TSCOMPILE_CACHE={folder} can be written by others: own it, and chmod 700 it")


def _digest(javascript: list[str]) -> str:
    return sha256_of(json.dumps(javascript))
