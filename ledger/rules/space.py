"""When a crawl has to end for want of room: its own quota, or the floor of free space on the disk."""

from ledger.rules.stop_reason import Ending


def over_quota(*, kept_bytes: int, max_bytes: int | None, captured: int) -> Ending | None:
    """The end of a crawl that keeps more than it may, or None. A quota is a limit like `max_pages`: no failure."""
    if max_bytes is None or kept_bytes <= max_bytes:
        return None
    error = f"its artifacts take {kept_bytes} bytes, and it may keep {max_bytes} (maxBytes, LEDGER_MAX_CRAWL_BYTES)"
    return Ending("succeeded" if captured else "failed", "max_bytes", error)


def no_next_level(*, depth: int, lacking: str) -> Ending:
    """The end of a crawl that has pages for another level and no room for them: `lacking`, as `below_floor` says it."""
    return Ending("failed", "no_space", f"no level {depth}: {lacking}")


def below_floor(*, free_bytes: int | None, min_free_bytes: int) -> str | None:
    """Why nothing more may be begun, or None. Free space that nobody could measure forbids nothing."""
    if free_bytes is None or free_bytes >= min_free_bytes:
        return None
    return (
        f"{free_bytes} bytes are free, and LEDGER_MIN_FREE_BYTES keeps {min_free_bytes}; make room (`comity prune`), "
        "then start again"
    )
