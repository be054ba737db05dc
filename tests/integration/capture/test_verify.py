"""What we capture, and what the field's own packer makes of it, stands up to every check."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from comity.archive.verify.steps import Verdict
from comity.archive.verify.whole import verify
from tests.integration.capture.server import CaptureServer, path_of
from tests.site.fixture import FixtureSite

pytestmark = pytest.mark.browser


def verdict(path: Path) -> Verdict:
    with path.open("rb") as file:
        return verify(file)


@pytest.mark.parametrize("path", ["/", "/zoo/post", "/redirect/chain?n=2"])
def test_captured_archive_is_whole(server: CaptureServer, site: FixtureSite, path: str) -> None:
    found = verdict(path_of(server.capture(site.url(0, path))["artifacts"]["wacz"]))
    assert found.failures == ()
    assert {step.name for step in found.steps if step.outcome == "skipped"} <= {"signature"}


def test_archive_of_another_packer_is_whole_until_a_byte_is_changed(
    server: CaptureServer, site: FixtureSite, tmp_path: Path
) -> None:
    with zipfile.ZipFile(path_of(server.capture(site.url(0))["artifacts"]["wacz"])) as ours:
        ours.extract("archive/data.warc.gz", tmp_path)
    made = tmp_path / "theirs.wacz"
    command = [sys.executable, "-c", "import sys; from wacz.main import main; sys.exit(main(sys.argv[1:]))"]
    arguments = ["create", "--detect-pages", "-o", str(made), str(tmp_path / "archive" / "data.warc.gz")]
    subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=60)
    assert verdict(made).failures == ()
    data = bytearray(made.read_bytes())
    data[data.index(b"\x1f\x8b\x08") + 100] ^= 1
    made.write_bytes(data)
    assert {"zip", "resources"} <= {step.name for step in verdict(made).failures}
