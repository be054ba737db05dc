"""Which extractors a crawl can run, and over which pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from comity.extract.ir.program import ExternalTransform, Extractor, JavaScriptValue, OutputCollection, OutputObject
from ledger.rules.patterns import compiled


def why_not_for_crawls(program: Extractor) -> Iterator[str]:
    """Each reason why the ledger keeps no such program: its secrets or its code would have no home here.

    A crawl reads pages that are captured already, so that nothing can be done in them any more either.
    """
    if program.source.session_policy == "required":
        yield 'needs a session (policy="required"), and a ledger keeps nobody\'s cookies; write optional or none'
    if program.source.workflow:
        yield "has a workflow, which needs a live browser; a crawl's pages are captured already, so leave it out"
    for one in program.transforms:
        if isinstance(one, ExternalTransform):
            yield f"needs the function {one.symbol} of a host (transform {one.name}), and a ledger runs nobody's code"
    for member in _javascript(program.output):
        yield f"has JavaScript for {member}, and a captured page runs none any more; take it out of the HTML"


def _javascript(described: OutputObject) -> Iterator[str]:
    for member in described.members:
        if isinstance(member, OutputCollection):
            yield from _javascript(member.row)
        elif isinstance(member.value_source, JavaScriptValue):
            yield member.id


@dataclass(frozen=True)
class Pin:
    """An extractor's place on the crawl, and the pages that it is for."""

    place: int
    url_pattern: str


class PinnedPatterns:
    """Which pins a page is for. Patterns are searched for in its URL, and in the one that it led to."""

    def __init__(self, pins: Sequence[Pin]) -> None:
        self._pins = [(pin.place, compiled(pin.url_pattern)) for pin in pins]

    def places(self, url: str, final_url: str | None) -> list[int]:
        """The places of the extractors that the page is for, in order."""
        urls = {url, final_url or url}
        return [place for place, pattern in self._pins if any(pattern.search(one) for one in urls)]
