"""Which tests one worker takes together, and in what order: what shares an expensive server, then long files.

A worker with a stack or a Prefect server of its own pays for its start and for its timers, so all tests that share one
are one unit. Long units begin early: one that began last would leave the other worker idle. Between those that mostly
wait come those that mostly count.
"""

STACK = "tests/e2e/"
PREFECT = "tests/integration/flows/"
ALONE = ("tests/e2e/test_kills.py", "tests/e2e/test_survival.py", "tests/e2e/test_watching.py")
"""Of that folder, what has servers of its own. They come when the worker that had the stack has left it."""
ORDER = (STACK, PREFECT, "tests/integration/ledger/", *ALONE, "tests/integration/", "tests/unit/")
"""Small files last: they fill what is left of the shorter queue."""


def unit_of(nodeid: str) -> str:
    """What one worker does from beginning to end: the folder of a shared server, or a file."""
    file = nodeid.partition("::")[0]
    if file in ALONE:
        return file
    return next((folder for folder in (STACK, PREFECT) if file.startswith(folder)), file)


def rank(nodeid: str) -> int:
    """Where its unit stands in the queue; those of one rank keep the order in which they were found."""
    unit = unit_of(nodeid)
    if unit in ORDER:
        return ORDER.index(unit)
    return next((place for place, prefix in enumerate(ORDER) if unit.startswith(prefix)), len(ORDER))
