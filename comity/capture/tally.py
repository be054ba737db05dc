"""What one capture may take, and what it got."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What the archive has and lacks."""

    recorded: int = 0
    body_bytes: int = 0
    blocked: int = 0
    denied: dict[str, str] = field(default_factory=dict)
    """URL to the reason why it was blocked."""
    bodyless: dict[str, str] = field(default_factory=dict)
    """URL to the reason why its body is missing."""
    truncated: dict[str, str] = field(default_factory=dict)
    """URL to the reason why its body is cut."""
    failed: dict[str, str] = field(default_factory=dict)
    """URL to the browser's reason why there was no response at all."""

    def note_blocked(self, url: str, why: str) -> None:
        """A request of the page that was not let out."""
        self.blocked += 1
        self.denied.setdefault(url, why)


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes, and in requests open at once."""

    response_bytes: int
    task_bytes: int
    pending_requests: int
