"""What a capture has freed goes back to the system, so that a server's memory stays level over its captures.

glibc raises by itself, up to 32 MiB, the size from which a block is mapped, and given back when it is freed. Pictures
and bodies then lie in the heaps of whatever threads made them, which keep what was freed: over 300 captures a server
grew from 57 to 273 MB. With a size that is set it stays at 56.
"""

import contextlib
import ctypes

M_MMAP_THRESHOLD = -3
"""`mallopt(3)`."""
LARGE_BYTES = 1024 * 1024


def give_back_large_blocks() -> None:
    """For this process from now on. Does nothing where the C library has no such choice."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
