"""Resolve which extractors a crawl runs, with their programs, once and for all."""

from collections.abc import Sequence

from comity.contract.extraction import ExtractorChoice
from comity.contract.ledger import ErrorField
from ledger.errors import BadInput
from ledger.rules.patterns import compiled
from ledger.store.catalogue import EXTRACTORS
from ledger.store.database import Tx
from ledger.store.models_catalogue import ExtractorVersion

MAX_PROGRAMS_BYTES = 8 * 1024 * 1024
"""All programs of a crawl together, as JSON: a flow run fetches them in one answer."""

Pins = list[tuple[ExtractorVersion, str]]


def resolve(tx: Tx, asked: Sequence[ExtractorChoice]) -> Pins:
    """Each extractor's version with its URL pattern, in the order asked.

    Raises BadInput naming each one that is unknown, disabled or repeated, and each pattern that is none.
    """
    found: Pins = []
    problems: list[ErrorField] = []
    ids: set[str] = set()
    for place, choice in enumerate(asked):
        here = f"extractors.{place}"
        try:
            compiled(choice.url_pattern)
        except ValueError as error:
            problems.append(ErrorField(field=f"{here}.urlPattern", message=str(error)))
        version = _version(tx, choice)
        if isinstance(version, ErrorField):
            problems.append(ErrorField(field=f"{here}.{version.field}", message=version.message))
        elif choice.id in ids:
            problems.append(
                ErrorField(field=f"{here}.id", message=f"{choice.id} is there already; join its patterns with |")
            )
        else:
            ids.add(choice.id)
            found.append((version, choice.url_pattern))
    if problems:
        raise BadInput(problems)
    size_bytes = sum(len(version.program.encode()) for version, _ in found)
    if size_bytes > MAX_PROGRAMS_BYTES:
        raise BadInput.at("extractors", f"{size_bytes} bytes of programs together; {MAX_PROGRAMS_BYTES} are allowed")
    return found


def _version(tx: Tx, choice: ExtractorChoice) -> ExtractorVersion | ErrorField:
    """The version, or what is wrong with the choice."""
    entry = EXTRACTORS.entry(tx, choice.id)
    if entry is None or entry.removed:
        return ErrorField(
            field="id", message=f"no extractor {choice.id!r} in the catalogue; GET /api/extractors lists them"
        )
    if not entry.enabled:
        return ErrorField(field="id", message=f"{choice.id} is disabled; enable it, or leave it out")
    version = EXTRACTORS.version(tx, choice.id, choice.version or entry.newest_version)
    if version is None:
        return ErrorField(
            field="version",
            message=f"{choice.id} has no version {choice.version}; the newest is {entry.newest_version}",
        )
    return version
