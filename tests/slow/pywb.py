"""pywb, the web archive player of the field's libraries, installed by the test that wants it."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.integration.capture.server import until

PACKAGES = ("pywb>=2.10,<3", "setuptools<81")
"""In an environment of its own: its pins are old ones, and not ours."""
COLLECTION = "captured"


def install(folder: Path) -> Path:
    """The environment's folder of programs; skips, saying why, where it cannot be made."""
    programs = folder / "pywb" / "bin"
    subprocess.run([sys.executable, "-m", "venv", str(folder / "pywb")], check=True, capture_output=True)
    pip = [str(programs / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES]
    done = subprocess.run(pip, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        pytest.skip(f"pywb cannot be installed here: {done.stderr[-500:]}")
    return programs


@contextmanager
def playing(programs: Path, folder: Path, archive: Path) -> Iterator[str]:
    """Plays one WACZ as pywb itself unpacks and indexes it; gives the address of its pages.

    `{address}/mp_/{url}` is a page without the player's own frame.
    """
    folder.mkdir()
    for arguments in (["init", COLLECTION], ["add", "--unpack-wacz", COLLECTION, str(archive)]):
        subprocess.run([str(programs / "wb-manager"), *arguments], cwd=folder, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "wayback.log").open("wb") as log:
        command = [str(programs / "wayback"), "--bind", "127.0.0.1", "--port", str(port)]
        player = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}/{COLLECTION}"
    try:
        assert until(lambda: _answers(address), 60), (folder / "wayback.log").read_text()
        yield address
    finally:
        player.terminate()
        player.wait(20)


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/", trust_env=False, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def index(folder: Path) -> set[tuple[str, str, str, str]]:
    """What pywb's own indexer found: URL, moment, status and digest of each entry."""
    return entries((folder / "collections" / COLLECTION / "indexes" / "index.cdxj").read_text())


def entries(cdxj: str) -> set[tuple[str, str, str, str]]:
    """The same of any CDXJ; digests without the algorithm's name, POST data left out of URLs."""
    found = set()
    for line in cdxj.splitlines():
        if not line.startswith("!"):
            _, moment, facts = line.split(" ", 2)
            told = json.loads(facts)
            url = re.sub(r"[?&]__wb_.*", "", told["url"])
            found.add((url, moment, told.get("status", ""), told["digest"].rpartition(":")[2]))
    return found
