"""How much room is left where artifacts and the ledger's own data lie."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from ledger.errors import NoSpace
from ledger.rules import space


class Space:
    """Looks at the disks. `min_free_bytes` is the floor below which nothing is begun."""

    def __init__(self, folders: Iterable[Path], min_free_bytes: int) -> None:
        self._folders = tuple(folders)
        self._min_free_bytes = min_free_bytes

    def free_bytes(self) -> int | None:
        """What is free on the fullest of the disks; None where none can be asked."""
        found = []
        for folder in self._folders:
            try:
                found.append(shutil.disk_usage(folder).free)
            except OSError:
                continue
        return min(found, default=None)

    def lacking(self) -> str | None:
        """Why no level may be begun now, or None."""
        return space.below_floor(free_bytes=self.free_bytes(), min_free_bytes=self._min_free_bytes)

    def require(self) -> None:
        """Raises NoSpace below the floor."""
        lacking = self.lacking()
        if lacking is not None:
            raise NoSpace(lacking)
