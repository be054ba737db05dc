"""What a capture has freed goes back to the system, so that a server's memory stays level over its captures.

glibc raises by itself, up to 32 MiB, the size from which a block is mapped, and given back when it is freed. Pictures
and bodies then lie in the heaps of whatever threads made them, which keep what was freed: over 300 captures a server
grew from 57 to 273 MB. With a size that is set it stays at 56.

Python's full collection looks at every object of the process, most of them the program's own: 14 to 47 ms in which a
capture stands still, 180 to 430 on a busy machine. What the program is made of is set aside once, and the rest looked
through between captures: 1.4 to 6 ms on the same busy machine.
"""

import contextlib
import ctypes
import gc

M_MMAP_THRESHOLD = -3
"""`mallopt(3)`."""
LARGE_BYTES = 1024 * 1024
MOST_MIDDLE_COLLECTIONS = 200
"""Before a full one comes by itself, in a capture that makes very much garbage (Python's own: 10)."""


def give_back_large_blocks() -> None:
    """For this process from now on. Does nothing where the C library has no such choice."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def set_program_aside() -> None:
    """For this process from now on, once it is ready: full collections leave out what lives now, and seldom come by
    themselves. Call `collect` while nobody waits.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, MOST_MIDDLE_COLLECTIONS)


def collect() -> None:
    """Frees what earlier captures have left in cycles. Blocks: a few milliseconds, with `set_program_aside`."""
    gc.collect()
