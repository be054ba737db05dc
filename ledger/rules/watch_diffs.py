"""Diffs as they lie in the database: JSON, deflated, for most are small and alike."""

import zlib

from comity.contract.watch_found import Diff


def packed(diff: Diff) -> bytes:
    """What is stored."""
    return zlib.compress(diff.model_dump_json(by_alias=True).encode(), 6)


def unpacked(stored: bytes) -> Diff:
    """What was stored."""
    return Diff.model_validate_json(zlib.decompress(stored))
