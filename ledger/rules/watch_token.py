"""Tokens of jobs: a claim's proof, which says which page it is about, so that a repeated report finds it."""

import re

_TOKEN = re.compile(r"j([0-9a-f]{1,14})x[0-9a-f]{16}")


def token(page: int, randomness: str) -> str:
    """The token of a claim; `randomness` are 16 hex digits."""
    return f"j{page:x}x{randomness}"


def page_of(text: str) -> int | None:
    """The page that the token is about; None where it is none of ours."""
    found = _TOKEN.fullmatch(text)
    return None if found is None else int(found[1], 16)
