"""`python -m flows.extraction_child`: reads pages with programs, in a process that may be ended at any time.

Frames on standard input and output: eight bytes of length, then so many bytes. The first frame in is JSON
`{programs: {id: program}, timeoutS, maxMemoryBytes}`, answered by `{faults: {id: why it cannot run here}}`. Then for
each page a frame of JSON `{extractors: [id, …]}` and one with its HTML, answered by a frame for each id, in order:
`{value, partial, warnings}` or `{error}`. Prefect is not loaded here, nor anything that holds a secret.
"""

import ctypes
import json
import resource
import signal
import sys
from typing import Any, BinaryIO

from comity.contract.extraction import MAX_VALUE_BYTES, PAGE_RESULT_TOO_LARGE, PROGRAM_UNREADABLE
from comity.extract import Failure, Program, SnapshotOptions, read_program

LENGTH_BYTES = 8
MAX_ROWS = 200_000
MAX_TEXT_CHARS = 64 * 1024 * 1024
PR_SET_PDEATHSIG = 1


def main() -> int:
    """Until standard input ends."""
    _end_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    order = _read(source)
    if order is None:
        return 0
    begun = json.loads(order)
    resource.setrlimit(resource.RLIMIT_AS, (begun["maxMemoryBytes"], begun["maxMemoryBytes"]))
    programs, faults = _prepared(begun["programs"])
    _write(sink, {"faults": faults})
    options = SnapshotOptions(timeout_s=begun["timeoutS"], max_rows=MAX_ROWS, max_text_chars=MAX_TEXT_CHARS)
    while (asked := _read(source)) is not None:
        html = _read(source)
        if html is None:
            break
        for ident in json.loads(asked)["extractors"]:
            _write(sink, _run(programs.get(ident), html, options))
    return 0


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _prepared(texts: dict[str, str]) -> tuple[dict[str, Program], dict[str, str]]:
    programs: dict[str, Program] = {}
    faults: dict[str, str] = {}
    for ident, text in texts.items():
        read = read_program(text)
        ready = Program.prepare(read.program) if read.program is not None else None
        if isinstance(ready, Program):
            programs[ident] = ready
        else:
            faults[ident] = str(ready) if isinstance(ready, Failure) else "; ".join(read.faults[:3])
    return programs, faults


def _run(program: Program | None, html: bytes, options: SnapshotOptions) -> dict[str, Any]:
    if program is None:
        return _error(PROGRAM_UNREADABLE, "the program cannot run on this machine")
    try:
        text = html.decode()  # captures keep pages in UTF-8, whatever their <meta> says
    except UnicodeDecodeError as error:
        return _error("E_HTML_DECODE", f"the captured HTML is not UTF-8 (byte {error.start})")
    gave = program.extract_snapshot(text, options=options)
    if isinstance(gave, Failure):
        return _error(gave.code, gave.message, gave.path)
    told = gave.plain()
    size_bytes = len(json.dumps(told["value"], ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size_bytes > MAX_VALUE_BYTES:
        message = f"gave {size_bytes} bytes of JSON; {MAX_VALUE_BYTES} are kept of a page: narrow the selectors"
        return _error(PAGE_RESULT_TOO_LARGE, message)
    return told


def _error(code: str, message: str, path: str | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "path": path}}


def _read(source: BinaryIO) -> bytes | None:
    length = source.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    data = source.read(size)
    return data if len(data) == size else None


def _write(sink: BinaryIO, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode("ascii")
    sink.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    sink.flush()


if __name__ == "__main__":
    sys.exit(main())
