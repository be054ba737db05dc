"""The fixture web, and a capture server with the budgets that it has in service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.capture.server import CaptureServer
from tests.site.fixture import FixtureSite
from tests.slow.process_tree import no_orphan


@pytest.fixture(scope="session")
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=3) as running:
        yield running


@contextmanager
def clean_server(folder: Path, **environment: str) -> Iterator[CaptureServer]:
    """A capture server with a store and a scratch of its own. When it has ended it has left nothing: no process, no
    temporary file, no half of an artifact.
    """
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    with no_orphan(), CaptureServer(folder / "store", TMPDIR=str(scratch), **environment) as running:
        yield running
        running.end()
        assert running.process.returncode == 0, "it had to be killed"
    assert not list(scratch.iterdir())
    assert not list((folder / "store").glob(".part-*"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureServer]:
    """One for the tests of a file."""
    with clean_server(tmp_path_factory.mktemp("capture")) as running:
        yield running


def assert_only_one_profile_is_left(server: CaptureServer) -> None:
    """Between captures a server keeps nothing but its browser's profile."""
    (scratch,) = (server.store.parent / "scratch").iterdir()
    assert [entry.name.startswith("comity-browser-") for entry in scratch.iterdir()] == [True]
    assert not list(server.store.glob(".part-*"))
