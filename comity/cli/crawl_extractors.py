"""Extractors of one `comity crawl`: what `--extractor` says, and what came of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from blocks.clients.ledger import LedgerClient
from comity.cli import extractor_calls
from comity.cli.console import counted
from comity.cli.errors import BadInput
from comity.cli.extractor_files import ExtractorFile, read_extractor
from comity.contract.extraction import ExtractionProgress, ExtractionView, ExtractorChoice, ExtractorPin
from comity.contract.ledger import StartCrawl
from ledger.rules.patterns import compiled

EVERY_PAGE = "."
SHOWN = 3
"""Results that the summary and its JSON show; `comity extract export` has all."""
SHOWN_FAILURES = 5
MAX_SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Wish:
    """One `--extractor`: which one over which pages; `file` is to be added to the catalogue first."""

    choice: ExtractorChoice
    file: ExtractorFile | None = None


def read_wish(text: str) -> Wish:
    """`FILE[=RE2]` where the name ends in .kdl, else `ID[@VERSION][=RE2]`. Raises BadInput; the file is checked."""
    named, equals, pattern = text.partition("=")
    if equals and not pattern:
        raise BadInput(f"--extractor {text}: a pattern follows the =, or leave the = out")
    try:
        compiled(pattern or EVERY_PAGE)
    except ValueError as error:
        raise BadInput(f"--extractor {text[:200]}: not an RE2 pattern: {error}") from None
    if named.endswith(".kdl"):
        file = read_extractor(Path(named))
        return Wish(ExtractorChoice(id=file.extractor.id, url_pattern=pattern or EVERY_PAGE), file)
    ident, at, version = named.partition("@")
    if not ident or (at and not (version.isascii() and version.isdigit() and 0 < int(version) < 2**31)):
        raise BadInput(f"--extractor {text[:200]}: write an id, an id@version or a .kdl file, then =RE2 where wanted")
    return Wish(ExtractorChoice(id=ident, version=int(version) if at else None, url_pattern=pattern or EVERY_PAGE))


def with_files(ledger: LedgerClient, request: StartCrawl, files: Sequence[ExtractorFile]) -> StartCrawl:
    """The request with the files in the catalogue, pinned at the version that they have there. Raises BadInput."""
    versions = {file.extractor.id: extractor_calls.add(ledger, file).version for file in files}
    pinned = [
        one
        if one.version is not None or one.id not in versions
        else one.model_copy(update={"version": versions[one.id]})
        for one in request.extractors
    ]
    return request.model_copy(update={"extractors": pinned})


def told(progress: ExtractionProgress) -> str:
    """How far it is, in one line."""
    words = f"{progress.extracted} extracted" + (f" ({progress.partial} in part)" if progress.partial else "")
    words += f", {progress.failed} failed" + (f", {progress.pending} wait" if progress.pending else "")
    return words + (f": {progress.reason}" if progress.reason else "")


def first_results(ledger: LedgerClient, crawl_id: str) -> list[ExtractionView]:
    """A few that gave something, for people to see what it is; then a few that failed, for them to see why."""
    extracted = ledger.extractions(crawl_id, state="extracted", limit=SHOWN)
    failed = ledger.extractions(crawl_id, state="failed", limit=SHOWN_FAILURES)
    return [*extracted.extractions, *failed.extractions]


def as_json(results: Sequence[ExtractionView]) -> list[dict[str, Any]]:
    return [one.to_wire() for one in results]


def unmatched(progress: ExtractionProgress, pins: Sequence[ExtractorPin], captured: int) -> str:
    """Why there is nothing at all, or "": nothing was captured, or no URL matched."""
    if progress.extracted or progress.failed or progress.pending:
        return ""
    if not captured:
        return "no page was captured"
    patterns = ", ".join(f"{pin.id}={pin.url_pattern}" for pin in pins)
    return f"no URL of the {counted(captured, 'captured page')} matches {patterns}"


def render(
    progress: ExtractionProgress, results: Sequence[ExtractionView], hint: str, *, why_none: str = ""
) -> RenderableType:
    """Counts, a few results and failures, and how to have all of them; `why_none` where there is none."""
    lines: list[Text] = [Text.assemble(("extraction: ", "bold"), told(progress))]
    if why_none:
        return Group(lines[0].append(f"; {why_none}", "yellow"))
    for one in results:
        said = (
            json.dumps(one.value, ensure_ascii=False) if one.error is None else f"{one.error.code} {one.error.message}"
        )
        cut = said if len(said) <= MAX_SHOWN_CHARACTERS else f"{said[: MAX_SHOWN_CHARACTERS - 1]}…"
        lines.append(Text.assemble(f"  {one.extractor}  {one.url}\n    ", (cut, "" if one.error is None else "red")))
    more = progress.failed - sum(one.error is not None for one in results)
    if more > 0:
        lines.append(Text(f"  and {more} more failed, each with its error in the export", "red"))
    return Group(*lines, Text(hint))


def export_hint(crawl_id: str, data: Path, *, stack_stays: bool) -> str:
    """The commands that write all results."""
    where = f" --data {quote(str(data))}"
    first = "" if stack_stays else f"comity up{where}, then "
    return f"all of it: {first}comity extract export {crawl_id}{where} --output results.csv (or .jsonl, .parquet)"
