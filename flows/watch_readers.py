"""Extractors of the ledger's catalogue, for pages whose fields are watched."""

import asyncio
import time

from blocks.clients.errors import ServiceError, ServiceRefused
from blocks.clients.watch import WatchClient
from comity import extract
from comity.contract.extraction import ExtractorDetail
from comity.contract.watch import ByExtractor
from comity.extract import canonical_json, plain
from comity.extract.page_fields import PageFields
from comity.watch.errors import QueueUnavailable

KEPT_S = 3_600.0
"""A version of an extractor never changes; one that was refused may be there later."""
MAX_KEPT = 1_000


class CatalogueReaders:
    """Asks the ledger once for each version."""

    def __init__(self, client: WatchClient) -> None:
        self._client = client
        self._programs: dict[tuple[str, int], str] = {}
        self._refused: dict[tuple[str, int], tuple[float, str]] = {}

    async def reader(self, watched: ByExtractor, organization: str) -> PageFields:
        """Raises ValueError where there is no such extractor, QueueUnavailable where the ledger is away."""
        del organization  # the catalogue is everybody's
        key = (watched.id, watched.version)
        until_s, reason = self._refused.get(key, (0.0, ""))
        if time.monotonic() < until_s:
            raise ValueError(reason)
        if key not in self._programs:
            await self._fetch(key)
        return PageFields(self._programs[key], tuple(watched.fields))

    async def _fetch(self, key: tuple[str, int]) -> None:
        if len(self._programs) >= MAX_KEPT or len(self._refused) >= MAX_KEPT:
            self._programs.clear()
            self._refused.clear()
        try:
            detail = await asyncio.to_thread(self._client.extractor, key[0], version=key[1])
            self._programs[key] = _compiled(detail)
        except ServiceRefused as error:
            if error.status >= 500:
                raise QueueUnavailable(str(error)) from error
            raise self._remember(key, f"no extractor {key[0]} version {key[1]} in the catalogue") from error
        except ServiceError as error:
            raise QueueUnavailable(str(error)) from error
        except ValueError as error:
            raise self._remember(key, str(error)) from error

    def _remember(self, key: tuple[str, int], reason: str) -> ValueError:
        self._refused[key] = (time.monotonic() + KEPT_S / 60, reason)
        return ValueError(reason)


def _compiled(detail: ExtractorDetail) -> str:
    modules = {module.path: module.source.encode() for module in detail.modules}

    def load(path: str) -> bytes:
        if path not in modules:
            raise FileNotFoundError(f"{path} is not in the catalogue")
        return modules[path]

    compilation = extract.compile(detail.source, load, file=detail.file)
    if compilation.program is None:
        raise ValueError(f"the extractor {detail.id} version {detail.version} does not compile any more")
    return canonical_json(plain(compilation.program))
