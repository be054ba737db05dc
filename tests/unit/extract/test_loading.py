"""Who compiles, or reads pages that are there, does not wait for an HTTP client to load."""

import subprocess
import sys

from tests.unit.extract.programs import extractor, field

PROGRAM = """
import sys
from comity.extract import Program, compile, open_client

program = Program.prepare(compile(sys.argv[1]).program)
print(program.extract_snapshot("<h1>There</h1>").value)
print("aiohttp" in sys.modules)
open_client()
print("aiohttp" in sys.modules)
"""


def test_http_client_is_loaded_for_http_alone() -> None:
    command = [sys.executable, "-c", PROGRAM, extractor(field())]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["{'title': 'There'}", "False", "True"]
