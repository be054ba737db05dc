"""Where people read: a terminal as wide as it is, and files and pipes without folded tables."""

import sys

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 200


def output() -> Console:
    """Standard output."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def counted(number: int, noun: str) -> str:
    """`1 archive`, `2 archives`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def progress_output() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False)


def listing(*titles: str) -> Table:
    """An empty table of that kind of output that people read and programs cut into columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(title, no_wrap=True)
    return table


def print_listing(table: Table) -> None:
    """One line a row, whole, however narrow the terminal: a URL that was cut or folded could not be copied."""
    console = output()
    widest = console.measure(table, options=console.options.update(max_width=1_000_000)).maximum
    Console(highlight=False, width=max(widest, 1)).print(table)
