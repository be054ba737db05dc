"""Artifacts in a local folder that capture servers write to: `file:///…`, judged by the real path."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from ledger.artifacts.place import Away, Elsewhere, Found, Missing, Stat, Unreadable
from ledger.rules.adoption import SINK_FOLDER


class Folder:
    """Everything below `root`, symbolic links resolved before a path is compared with it."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def owns(self, location: str) -> bool:
        """True for `file:` locations."""
        return location[:5].lower() == "file:"

    def read(self, location: str, limit_bytes: int) -> bytes:
        """See `Place.read`."""
        with self.open(location) as file:
            try:
                content = file.read(limit_bytes + 1)
            except OSError as error:
                raise Away(_words(error)) from None
        if len(content) > limit_bytes:
            raise Unreadable(f"over {limit_bytes} bytes")
        return content

    def open(self, location: str) -> BinaryIO:
        """See `Place.open`. What is opened is the very file that was judged, and a plain one."""
        path = self.below(location)
        try:
            before = path.lstat()
            if not stat.S_ISREG(before.st_mode):
                raise Unreadable("not a plain file")
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Missing(_words(error)) from None
        except OSError as error:
            raise Away(_words(error)) from None
        file = os.fdopen(descriptor, "rb")
        opened = os.fstat(descriptor)
        if (opened.st_dev, opened.st_ino) != (before.st_dev, before.st_ino):
            file.close()
            raise Unreadable("changed while it was opened")
        return file

    def stat(self, location: str) -> Stat:
        """See `Place.stat`."""
        with self.open(location) as file:
            found = os.fstat(file.fileno())
        return stat_of(found)

    def listing(self, folder: str, ending: str) -> Iterator[Found]:
        """See `Place.listing`. A folder that is not there has nothing in it."""
        place = self._root / folder
        if not place.resolve().is_relative_to(self._root):
            raise Elsewhere("outside the artifact root")
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name.endswith(ending) and entry.is_file(follow_symlinks=False):
                        yield Found(
                            entry.name, (place / entry.name).as_uri(), entry.stat(follow_symlinks=False).st_size
                        )
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise Away(_words(error)) from None

    def write(self, name: str, content: bytes) -> str:
        """See `Place.write`. The bytes are on the disk before they get their name."""
        path = self._root / name
        if not path.resolve().is_relative_to(self._root):
            raise Elsewhere("outside the artifact root")
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with beside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise Away(_words(error)) from None
        return path.as_uri()

    def real(self, location: str) -> str:
        """See `Place.real`: symbolic links are followed."""
        return self.below(location).as_uri()

    def remove(self, locations: Sequence[str]) -> None:
        """See `Place.remove`."""
        for location in locations:
            path = self.below(location)
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise Away(f"{path.name}: {_words(error)}") from None
            self._drop_empty(path.parent)

    def _drop_empty(self, folder: Path) -> None:
        """The folder of a day that has nothing left, and its month and year likewise; or a crawl's in the sink."""
        with contextlib.suppress(OSError):
            while folder != self._root and (folder.name.isdigit() or folder.parent.name == SINK_FOLDER):
                folder.rmdir()
                folder = folder.parent

    def signed_url(self, location: str, *, seconds: int) -> str | None:
        """None: a folder signs nothing; the ledger does it itself."""
        del location, seconds
        return None

    def below(self, location: str) -> Path:
        """The file's real path, symbolic links resolved before it is compared with the root. Raises Elsewhere."""
        try:
            parts = urlsplit(location)
            if parts.scheme != "file" or parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
                raise Elsewhere("not a local file")
            path = Path(unquote(parts.path, errors="strict")).resolve()
        except (ValueError, OSError, RuntimeError):
            raise Elsewhere("not a path") from None
        if not path.is_relative_to(self._root) or not parts.path.startswith("/"):
            raise Elsewhere("outside the artifact root")
        return path


def stat_of(found: os.stat_result) -> Stat:
    """A file's stat. Artifacts are renamed into place whole, so that size and time tell versions apart."""
    modified_at = datetime.fromtimestamp(found.st_mtime, UTC)
    return Stat(found.st_size, modified_at, f"{found.st_mtime_ns:x}-{found.st_size:x}")


def _words(error: OSError) -> str:
    return error.strerror or type(error).__name__
