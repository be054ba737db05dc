"""What this deployment allows its crawls."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Terms:
    """From settings, fixed while the process lives. A crawl that chooses none of `allowed_formats` gets `formats`."""

    formats: tuple[str, ...]
    allowed_formats: tuple[str, ...]
    signing: bool
    shared_session_organization: str | None
    """The one organisation whose crawls may share cookies between captures; None: nobody's may."""
    max_running_crawls: int
    max_crawl_bytes: int | None = None
