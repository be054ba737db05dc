"""Archives as the field's own tools read them."""

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from tests.integration.capture.server import path_of


@dataclass(frozen=True, slots=True)
class Read:
    """One record as `warcio` reads it, its digests checked."""

    kind: str
    url: str
    headers: dict[str, str]
    warc: tuple[tuple[str, str], ...]
    status: str
    http: dict[str, str]
    body: bytes
    first_line: str = ""


class Archive:
    """A WACZ, opened with the standard library's ZIP reader and `warcio`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as package:
            self.members = {name: package.read(name) for name in package.namelist()}
            assert all(info.compress_type == zipfile.ZIP_STORED for info in package.infolist())
        self.records = list(self._read())

    @classmethod
    def of(cls, report: dict[str, Any]) -> "Archive":
        """The archive that a report names."""
        return cls(path_of(report["artifacts"]["wacz"]))

    @property
    def package(self) -> dict[str, Any]:
        """`datapackage.json`."""
        facts: dict[str, Any] = json.loads(self.members["datapackage.json"])
        return facts

    @property
    def pages(self) -> list[dict[str, Any]]:
        """`pages.jsonl` without its header line."""
        return [json.loads(line) for line in self.members["pages/pages.jsonl"].splitlines()][1:]

    def responses(self, path: str) -> list[Read]:
        """Responses whose URL ends so."""
        return [record for record in self.records if record.kind == "response" and record.url.endswith(path)]

    def requests(self, path: str) -> list[Read]:
        """Requests whose URL ends so."""
        return [record for record in self.records if record.kind == "request" and record.url.endswith(path)]

    def reports(self) -> dict[str, dict[str, Any]]:
        """What behaviors reported in the last load, by script."""
        lines = self.members.get("behaviors/reports.jsonl", b"").splitlines()
        return {line["id"]: line for line in map(json.loads, lines)}

    def _read(self) -> Iterator[Read]:
        for record in ArchiveIterator(BytesIO(self.members["archive/data.warc.gz"]), check_digests=True):
            body = record.content_stream().read()
            assert record.digest_checker.passed is not False, record.digest_checker.problems
            http = record.http_headers
            yield Read(
                kind=record.rec_type,
                url=record.rec_headers.get_header("WARC-Target-URI") or "",
                headers=dict(record.rec_headers.headers),
                warc=tuple(record.rec_headers.headers),
                status=http.get_statuscode() if http else "",
                http={name.lower(): value for name, value in http.headers} if http else {},
                body=body,
                first_line=http.statusline if http else "",
            )
