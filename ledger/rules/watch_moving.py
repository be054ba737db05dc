"""Which pages belong to a part of all: the same ones every time, and those of a smaller part to a larger one."""

import hashlib

STEPS = 1_000_000


def is_in_part(number: int, percent: float) -> bool:
    """Whether the page is among the first `percent` of all, in an order that has nothing to do with its number."""
    digest = hashlib.blake2b(number.to_bytes(8, "big"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % STEPS < percent * STEPS / 100
