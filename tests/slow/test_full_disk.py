"""Disks that fill up for real (a small tmpfs): nothing partial is ever named as whole, and the server outlives it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.integration.capture.server import CaptureServer, request
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html
from tests.slow.conftest import clean_server

pytestmark = [pytest.mark.slow, pytest.mark.browser]

MIB = 1024 * 1024


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    """A file system of its own of this size; skips, saying why, where it cannot be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {getattr(error, 'stderr', '') or error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """A file that takes all that is left."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(64 * 1024))
    return filler


def named(store: Path) -> list[Path]:
    """Artifacts and manifests in the store."""
    return [path for path in store.rglob("*") if path.is_file() and path.name != "filler"]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_disk(tmp_path_factory.mktemp("disks") / "store", 6 * MIB) as folder:
        yield folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, disk: Path) -> Iterator[CaptureServer]:
    with clean_server(tmp_path_factory.mktemp("capture"), CAPTURE_STORE=str(disk)) as running:
        running.store = disk
        yield running


@pytest.mark.parametrize("formats", [("wacz",), ("png", "html"), ("png", "webp", "html", "links", "mhtml", "wacz")])
def test_disk_full_from_the_start_ends_as_internal_and_leaves_nothing(
    server: CaptureServer, site: FixtureSite, disk: Path, formats: tuple[str, ...]
) -> None:
    before = named(disk)
    filler = fill(disk)
    try:
        answer = server.post(request(site.url(0), *formats)).json()
        assert (answer["report"]["status"], answer["report"]["errorDetails"]["type"]) == ("failed", "internal")
        assert "No space left" in answer["report"]["errorDetails"]["message"]
        assert answer["report"]["artifacts"] == {}
        assert "No space left" in answer["manifest"]["error"]
        assert named(disk) == before
        assert not list(disk.glob(".part-*"))
    finally:
        filler.unlink()
    assert server.capture(site.url(0), *formats)["status"] == "success"
    for path in set(named(disk)) - set(before):
        path.unlink()


@pytest.mark.parametrize(
    "body_bytes", [20 * MIB, 7 * MIB // 2], ids=["the recording does not fit", "the archive does not fit beside it"]
)
def test_page_that_fills_the_disk_ends_as_internal_and_its_manifest_is_kept(
    server: CaptureServer, site: FixtureSite, disk: Path, body_bytes: int
) -> None:
    site.set("/noise", Response(body=os.urandom(body_bytes), content_type="application/octet-stream"))
    site.set("/fills", html("<!doctype html><script>fetch('/noise').then(r => r.blob())</script>"))
    report = server.capture(site.url(0, "/fills"))
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "internal")
    assert "No space left" in report["errorDetails"]["message"]
    assert [path.name for path in named(disk) if report["taskId"] in path.name] == [f"{report['taskId']}.result.json"]
    assert server.capture(site.url(0))["status"] == "success"


def test_full_scratch_costs_a_capture_at_most(tmp_path: Path, site: FixtureSite) -> None:
    """Where the browser keeps its profile."""
    (tmp_path / "server").mkdir()
    with (
        small_disk(tmp_path / "server" / "scratch", 64 * MIB) as scratch,
        clean_server(tmp_path / "server") as server,
    ):
        assert server.capture(site.url(0))["status"] == "success"
        filler = fill(scratch)
        for _ in range(2):
            report = server.post(request(site.url(0))).json()["report"]
            assert report["status"] == "success" or report["errorDetails"]["type"] == "internal", report
        server.browser().kill()
        answer = server.post(request(site.url(0)), timeout_s=140)
        assert answer.status_code == 200
        filler.unlink()
        assert server.capture(site.url(0))["status"] == "success"
