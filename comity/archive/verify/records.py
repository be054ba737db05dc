"""The WARC files: every record whole, with the digests that it tells."""

from dataclasses import dataclass, field

from comity.archive.verify.container import Container
from comity.archive.verify.steps import Step, failed, judged, skipped
from comity.archive.warc_reader import BrokenWarcError, RecordFacts, read_records

FOLDER = "archive/"
ENDINGS = (".warc", ".warc.gz")


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at an offset of a WARC."""

    type: str
    url: str
    length: int
    payload_digest: str


@dataclass(slots=True)
class Found:
    """The records of all WARCs, by file name (below `archive/`) and offset."""

    places: dict[tuple[str, int], Place] = field(default_factory=dict)

    @property
    def responses(self) -> int:
        return sum(1 for place in self.places.values() if place.type == "response")


def check_records(container: Container) -> tuple[Found, Step]:
    """Reads every WARC of the package through."""
    found = Found()
    problems: list[str] = []
    checked = unchecked = 0
    warcs = [name for name in container.members if name.startswith(FOLDER) and name.endswith(ENDINGS)]
    if not warcs:
        return found, failed("records", "there is no WARC below archive/")
    for name in warcs:
        short = name.removeprefix(FOLDER)
        try:
            for record in read_records(container.pieces(name)):
                found.places[short, record.offset] = _place(record)
                problems += [f"{_named(name, record)}: {problem}" for problem in record.problems]
                checked += record.checked
                unchecked += record.unchecked
        except BrokenWarcError as error:
            problems.append(f"{name}: {error}")
    told = f"{len(found.places)} records, {checked} digests match"
    if unchecked:
        told += f"; {unchecked} more cannot be checked here (revisits, chunked bodies, unknown algorithms)"
    if not problems and not checked:
        return found, skipped("records", f"{len(found.places)} records, and none tells a digest that can be checked")
    return found, judged("records", told, problems)


def _place(record: RecordFacts) -> Place:
    return Place(record.type, record.url, record.length, record.payload_digest)


def _named(name: str, record: RecordFacts) -> str:
    return f"{name}, the {record.type} at offset {record.offset}" + (f" of {record.url}" if record.url else "")
