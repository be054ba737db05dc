"""`python -m tests.fakes.dying_child`: the child that extracts, but pages with DIE in them are its end."""

import os
import sys
from typing import Any

from flows import extraction_child

_run = extraction_child._run


def _run_or_die(program: Any, html: bytes, options: Any) -> dict[str, Any]:
    if b"DIE" in html:
        os._exit(9)
    return _run(program, html, options)


if __name__ == "__main__":
    extraction_child._run = _run_or_die
    sys.exit(extraction_child.main())
