"""The one interface over the places that artifacts lie in, and the ways in which a location cannot be read.

NotRead
├── Elsewhere    not below our root or bucket: never opened
├── Missing      ours, and there is nothing there (yet)
├── Away         ours, but the store does not answer
└── Unreadable   ours, there is something, and it is not what it should be
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol


class NotRead(Exception):  # noqa: N818  says what is so, not what went wrong
    """Why a location was not read. The text is fit for a page's reason: no addresses, no internals."""


class Elsewhere(NotRead):
    """The location is not below our root or in our bucket: it is never opened."""


class Missing(NotRead):
    """The location is ours, and nothing is there."""


class Away(NotRead):
    """The location is ours, and the store that it lies in does not answer."""


class Unreadable(NotRead):
    """The location is ours, and what is there is too large, no plain file, or not what it should be."""


@dataclass(frozen=True)
class Found:
    """An artifact in a listing."""

    name: str
    location: str
    size_bytes: int


@dataclass(frozen=True)
class Stat:
    """What is known of an artifact without reading it. `tag` changes when its bytes do."""

    size_bytes: int
    modified_at: datetime
    tag: str


class Place(Protocol):
    """A store of artifacts. Every method does I/O and blocks, within a budget, and raises NotRead."""

    def owns(self, location: str) -> bool:
        """Whether the location is written as one of this place. It may still lead out of it."""

    def read(self, location: str, limit_bytes: int) -> bytes:
        """The whole artifact. Unreadable where it is longer than the limit."""

    def open(self, location: str) -> BinaryIO:
        """The artifact for reading here and there. The caller closes it; its reads raise OSError."""

    def stat(self, location: str) -> Stat:
        """Size and age."""

    def listing(self, folder: str, ending: str) -> Iterator[Found]:
        """Artifacts right below `folder` (`2030/01/31`) whose names end so, in no order."""

    def write(self, name: str, content: bytes) -> str:
        """Keep the bytes under a name of the ledger's own (`watch/…`), whole or not at all; returns the location."""

    def real(self, location: str) -> str:
        """The one location of what this one names. Nothing need be there; raises Elsewhere and nothing else."""

    def remove(self, locations: Sequence[str]) -> None:
        """Remove artifacts at their real locations, and folders that this leaves empty; what is gone is fine."""

    def signed_url(self, location: str, *, seconds: int) -> str | None:
        """A URL of the store's own that reads the artifact for so long; None where the store has no such thing."""
