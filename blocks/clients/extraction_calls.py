"""The ledger's calls about extractors and about what crawls extract; a part of `LedgerClient`."""

from collections.abc import Iterator
from typing import Literal

from blocks.clients.service import ServiceClient
from comity.contract.extraction import (
    AddExtractor,
    ChangeExtractor,
    ExtractionList,
    ExtractionOrder,
    ExtractionsTaken,
    ExtractorDetail,
    ExtractorList,
    ExtractorView,
    OrderExtractions,
    PinnedExtractors,
    ReportExtractions,
)


class ExtractionCalls(ServiceClient):
    """See `LedgerClient`."""

    def extractors(self) -> ExtractorList:
        """`GET /api/extractors`: the newest version of each, without files."""
        return self.ask(ExtractorList, "GET", "/api/extractors")

    def extractor(self, extractor_id: str, *, version: int | None = None) -> ExtractorDetail:
        """`GET /api/extractors/{id}`: the newest version, or another one, with its files."""
        return self.ask(ExtractorDetail, "GET", f"/api/extractors/{extractor_id}", query={"version": version})

    def add_extractor(self, wanted: AddExtractor) -> ExtractorView:
        """`POST /api/extractors`: a new version, or the one that has these files. 400 names every mistake."""
        return self.ask(ExtractorView, "POST", "/api/extractors", body=wanted)

    def change_extractor(self, extractor_id: str, change: ChangeExtractor) -> ExtractorView:
        """`PATCH /api/extractors/{id}`."""
        return self.ask(ExtractorView, "PATCH", f"/api/extractors/{extractor_id}", body=change)

    def remove_extractor(self, extractor_id: str) -> None:
        """`DELETE /api/extractors/{id}`: crawls that pinned it keep it."""
        self.call("DELETE", f"/api/extractors/{extractor_id}")

    def pinned_extractors(self, crawl_id: str) -> PinnedExtractors:
        """`GET /api/crawls/{id}/extractors`: what the crawl runs, with the programs."""
        return self.ask(PinnedExtractors, "GET", f"/api/crawls/{crawl_id}/extractors")

    def page_html(self, crawl_id: str, page_id: str, *, max_bytes: int) -> bytes | None:
        """`GET /api/crawls/{id}/pages/{pageId}/html`; None where it is longer than that."""
        received = bytearray()
        with self.stream(f"/api/crawls/{crawl_id}/pages/{page_id}/html") as pieces:
            for piece in pieces:
                received += piece
                if len(received) > max_bytes:
                    return None
        return bytes(received)

    def order_extractions(self, crawl_id: str, wanted: OrderExtractions) -> ExtractionOrder:
        """`POST …/extractions/orders`: the next pages. ServiceRefused with 409 where the run is not the crawl's."""
        return self.ask(ExtractionOrder, "POST", f"/api/crawls/{crawl_id}/extractions/orders", body=wanted)

    def report_extractions(self, crawl_id: str, report: ReportExtractions) -> ExtractionsTaken:
        """`POST …/extractions/results`: any number of times."""
        path = f"/api/crawls/{crawl_id}/extractions/results"
        return self.ask(ExtractionsTaken, "POST", path, body=report)

    def extractions(
        self,
        crawl_id: str,
        *,
        extractor: str | None = None,
        state: Literal["extracted", "failed"] | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> ExtractionList:
        """`GET /api/crawls/{id}/extractions`, pages in frontier order; `after` is the `next` of the answer before."""
        query = {"extractor": extractor, "state": state, "after": after, "limit": limit, "format": "json"}
        return self.ask(ExtractionList, "GET", f"/api/crawls/{crawl_id}/extractions", query=query)

    def extraction_lines(self, crawl_id: str, *, extractor: str | None = None) -> Iterator[bytes]:
        """All of them as JSON texts, as they come. Raises a ServiceError also where the answer breaks off."""
        query = {"extractor": extractor, "format": "jsonl"}
        left = b""
        with self.stream(f"/api/crawls/{crawl_id}/extractions", query=query) as pieces:
            for piece in pieces:
                *lines, left = (left + piece).split(b"\n")
                yield from lines
        if left:
            yield left
