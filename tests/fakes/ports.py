"""Ports that nobody borrows: below the range that Linux takes for outgoing connections, and apart from a stack's."""

import random

from comity.cli.stack.ports import is_free

RANGE = range(11_000, 20_000)


def free_port() -> int:
    """A port of 127.0.0.1 where nobody listens, and nobody will by chance. Each call gives another."""
    return next(port for port in random.sample(RANGE, len(RANGE)) if is_free(port))


def dead_url() -> str:
    """Where nobody listens."""
    return f"http://127.0.0.1:{free_port()}"
