"""All places of this deployment as one, and the files in them that the ledger understands."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from pydantic import Field, ValidationError

from comity.contract.capture import CaptureReport, PageRobots
from comity.contract.wire import Answer
from ledger.artifacts.place import Away, Elsewhere, Found, Missing, NotRead, Place, Stat, Unreadable
from ledger.rules.frontier import Link
from ledger.rules.outcome import Manifest
from ledger.rules.robots_directives import RobotsDirective

MAX_MANIFEST_BYTES = 8 * 1024 * 1024
MAX_LINKS_BYTES = 8 * 1024 * 1024
MANIFEST_ENDING = ".result.json"
NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""The escape of a NUL in JSON, and not a backslash of its own before `u0000`."""


class _LinkEntry(Answer):
    href: str
    rel: str | None = None


class _LinksFile(Answer):
    final_url: str
    links: list[_LinkEntry] = Field(max_length=200_000)
    robots: list[PageRobots] = Field(default=[], max_length=1000)


@dataclass(frozen=True)
class PageLinksFound:
    """What a links file says."""

    final_url: str
    links: list[Link]
    robots: list[RobotsDirective]


class Artifacts:
    """Reads what capture servers wrote. The methods of `Place`, over whichever place a location names."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = tuple(places)

    def manifest(self, location: str | None) -> Manifest:
        """The manifest at a reported location, or why there is none."""
        if location is None:
            return Manifest("none")
        try:
            return Manifest(
                "read", CaptureReport.model_validate_json(_storable(self.read(location, MAX_MANIFEST_BYTES)))
            )
        except Elsewhere:
            return Manifest("elsewhere")
        except (Missing, Away) as error:
            return Manifest("late", problem=f"manifest {location[:300]}: {error}", away=isinstance(error, Away))
        except Unreadable as error:
            return Manifest("unreadable", problem=f"manifest {location[:300]}: {error}")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            return Manifest("unreadable", problem=f"manifest {location[:300]} is not one: {where} {first['msg']}")

    def links(self, location: str) -> PageLinksFound:
        """The links file at a location. Raises NotRead."""
        content = self.read(location, MAX_LINKS_BYTES)
        try:
            found = _LinksFile.model_validate_json(content)
        except ValidationError as error:
            raise Unreadable(f"{location[:300]} is no links file ({error.error_count()} problems)") from None
        return PageLinksFound(
            found.final_url,
            [Link(entry.href, entry.rel) for entry in found.links],
            [RobotsDirective(entry.source, entry.value, entry.name) for entry in found.robots],
        )

    def read(self, location: str, limit_bytes: int) -> bytes:
        """See `Place.read`."""
        return self._place(location).read(location, limit_bytes)

    def size_bytes(self, locations: Iterable[str]) -> int:
        """What the files at these locations take up; those that are elsewhere, gone or away count nothing."""
        total = 0
        for location in locations:
            with suppress(NotRead):
                total += self.stat(location).size_bytes
        return total

    def open(self, location: str) -> BinaryIO:
        """See `Place.open`."""
        return self._place(location).open(location)

    def stat(self, location: str) -> Stat:
        """See `Place.stat`."""
        return self._place(location).stat(location)

    def signed_url(self, location: str, *, seconds: int) -> str | None:
        """See `Place.signed_url`."""
        return self._place(location).signed_url(location, seconds=seconds)

    def write(self, name: str, content: bytes) -> str:
        """See `Place.write`: into the bucket where there is one, else into the folder."""
        return self.places[-1].write(name, content)

    def remove(self, location: str) -> None:
        """See `Place.remove`."""
        self._place(location).remove([location])

    def manifests(self, folder: str) -> Iterator[Found]:
        """Every manifest right below a folder, of all places. Raises NotRead."""
        for place in self.places:
            yield from place.listing(folder, MANIFEST_ENDING)

    def _place(self, location: str) -> Place:
        for place in self.places:
            if place.owns(location):
                return place
        raise Elsewhere("no place of this deployment")


def _storable(content: bytes) -> bytes:
    """JSON whose strings a database can hold: a page may put a NUL into its messages, and PostgreSQL takes none."""
    return NUL.sub(rb"\1\\ufffd", content)
