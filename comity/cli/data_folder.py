"""Where everything of one stack lies: `--data DIR`, else `COMITY_DATA`, else `./data`."""

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from comity.cli.errors import BadInput

DATA_VARIABLE = "COMITY_DATA"
"""Names the data folder, and marks every process of a stack: what a kill left behind is found by it."""


@dataclass(frozen=True)
class DataFolder:
    """The folder and the places in it. Made by `of`, which answers for the path; `create` makes it (0700)."""

    root: Path

    @property
    def lock(self) -> Path:
        """Locked by the supervisor for as long as it lives."""
        return self.root / "lock"

    @property
    def ports(self) -> Path:
        return self.root / "ports.json"

    @property
    def state(self) -> Path:
        """What the running supervisor says of its parts."""
        return self.root / "state.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger"

    @property
    def artifacts(self) -> Path:
        """Shared by the ledger (reads) and the capture servers (write)."""
        return self.root / "artifacts"

    @property
    def prefect_home(self) -> Path:
        return self.root / "prefect"

    @property
    def compiler_cache(self) -> Path:
        return self.root / "compiler"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets"

    @property
    def run(self) -> Path:
        """Small files of this run: who is ready, what was deployed."""
        return self.root / "run"

    def ledger_token(self, name: str) -> Path:
        """Where the ledger keeps a service token; `operator`, `flows`, `trigger`."""
        return self.ledger / "tokens" / name

    def create(self) -> None:
        """Makes the folder and its rooms, for its owner alone. Raises BadInput where it cannot."""
        rooms = (self.logs, self.ledger, self.artifacts, self.prefect_home, self.compiler_cache, self.secrets, self.run)
        if self._holds_others():
            raise BadInput(f"--data {self.root}: holds files that are not comity's; name a folder of its own")
        ours = not self.root.exists() or self.lock.exists()
        try:
            for folder in (self.root, *rooms):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if ours:  # a folder that was there before keeps the mode that somebody gave it; its rooms are closed
                self.root.chmod(0o700)
        except OSError as error:
            raise BadInput(
                f"--data {self.root}: cannot make the data folder ({error.strerror}); choose one that you may write"
            ) from None

    def _holds_others(self) -> bool:
        """A home or a checkout, named by mistake: nothing is strewn over it, and its mode is left alone."""
        try:
            return not self.lock.exists() and any(entry.is_file() for entry in self.root.iterdir())
        except OSError:
            return False

    def secret(self, name: str) -> str:
        """The kept random secret of that name (256 bits, url-safe, mode 0600); made on first use."""
        path = self.secrets / name
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(32))
        return path.read_text().strip()


def data_folder(chosen: Path | None) -> DataFolder:
    """The folder that was chosen on the command line, by `COMITY_DATA`, or `./data`. Raises BadInput for a file."""
    root = (chosen or Path(os.environ.get(DATA_VARIABLE) or "data")).expanduser().resolve()
    if root.exists() and not root.is_dir():
        raise BadInput(f"--data {root}: is a file; name a folder")
    return DataFolder(root)
