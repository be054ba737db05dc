"""What the field's own tools say of an archive."""

import io
import json
import subprocess
import sys
import tempfile
import warnings
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path

from wacz.main import validate_wacz

from tests.integration.capture.archives import Archive

INDEXER = "import sys; from cdxj_indexer.main import main; main(sys.argv[1:])"
"""In a process of its own: `wacz`, once imported, makes it index other records too."""


def assert_every_tool_takes(archive: Archive, *, unindexed: tuple[str, ...] = ()) -> None:
    """`cdxj-indexer` finds the same index, and `wacz validate` nothing wrong. (`warcio` has read it already.)

    `unindexed`: what our index leaves out, by the end of its URL.
    """
    with tempfile.TemporaryDirectory() as folder:
        warc = Path(folder) / "data.warc.gz"
        warc.write_bytes(archive.members["archive/data.warc.gz"])
        indexed = subprocess.run(
            [sys.executable, "-c", INDEXER, "-p", "-s", str(warc)], capture_output=True, check=True
        )
    theirs = [line for line in indexed.stdout.decode().splitlines() if not _url_of(line).endswith(unindexed)]
    assert archive.members["indexes/index.cdx"].decode().splitlines() == theirs
    told = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(told):
        warnings.simplefilter("ignore")
        code = validate_wacz(Namespace(file=str(archive.path), verify_auth=False, verifier_url=None))
    assert (code, "Validation succeeded" in told.getvalue()) == (0, True), told.getvalue()


def _url_of(line: str) -> str:
    return str(json.loads(line.split(" ", 2)[2])["url"])
