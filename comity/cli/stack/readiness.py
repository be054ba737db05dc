"""Whether a part answers yet."""

import os

import httpx

from comity.cli.stack.parts import FileReady, HttpReady

PROBE_TIMEOUT_S = 2.0


class Readiness:
    """Asks parts whether they are ready, over one client that ignores proxies of the environment."""

    def __init__(self) -> None:
        self._client = httpx.Client(trust_env=False, timeout=PROBE_TIMEOUT_S)

    def close(self) -> None:
        self._client.close()

    def is_ready(self, ready: HttpReady | FileReady, pid: int) -> bool:
        """One look, at most `PROBE_TIMEOUT_S`. A refused connection or another status is a no."""
        if isinstance(ready, FileReady):
            return _written_by(ready, pid)
        try:
            return self._client.get(ready.url, auth=ready.basic).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False


def _written_by(ready: FileReady, pid: int) -> bool:
    try:
        return int(ready.path.read_text()) == pid
    except (OSError, ValueError):
        return False


def announce(ready: FileReady) -> None:
    """What a part does when it is ready: writes its pid, in one step."""
    draft = ready.path.with_suffix(".new")
    draft.write_text(str(os.getpid()))
    draft.replace(ready.path)
