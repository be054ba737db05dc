"""Service tokens and keys: made at first start, kept in the data folder, compared in constant time."""

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from ledger.errors import SettingsRefused

SUBJECTS = ("flows", "operator", "trigger")
"""For flow runs, for people, and for the flow that starts crawls."""
TOKEN_BYTES = 32
"""256 random bits."""


class Tokens:
    """Tells whose a token is. Holds hashes only, so that nothing that prints this object prints a token."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._digests = {subject: _digest(token) for subject, token in tokens.items()}

    def subject_of(self, token: str) -> str | None:
        """Whose the token is, or None. Every digest is compared, so the time taken tells nothing."""
        given = _digest(token)
        found = None
        for subject, digest in self._digests.items():
            if hmac.compare_digest(given, digest):
                found = subject
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def load_or_make(folder: Path) -> Tokens:
    """Read the tokens of every subject, making those that are missing.

    Raises SettingsRefused where folder or files can be read by others than their owner, or hold no token.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_wider(folder, 0o700)
    return Tokens({subject: kept_secret(folder / subject) for subject in SUBJECTS})


def kept_secret(path: Path) -> str:
    """The secret in the file, 256 bits as URL-safe text; made where it is missing. Raises SettingsRefused as above."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        _refuse_wider(path, 0o600)
        token = path.read_text("utf-8").strip()
        if len(token) < TOKEN_BYTES:
            raise SettingsRefused(f"{path} holds no secret; remove it, and the next start makes a new one") from None
        return token
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    return token


def _refuse_wider(path: Path, allowed: int) -> None:
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    if mode & ~allowed:
        raise SettingsRefused(
            f"{path} has mode {mode:04o}: others can read the secrets. Run `chmod {allowed:o} {path}`; if others could "
            "log in here, also remove the files, so that new ones are made"
        )
    if found.st_uid != os.geteuid():
        raise SettingsRefused(f"{path} belongs to user {found.st_uid}; run `chown {os.geteuid()} {path}`")
