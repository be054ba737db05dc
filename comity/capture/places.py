"""Where a capture's files go: the server's own store, or the sink that the request names."""

from pathlib import PurePath

from comity.capture.errors import CaptureFault
from comity.capture.settings import Settings
from comity.capture.sink import Sink, SinkError
from comity.capture.store import Batch, Place, Store, share_ms
from comity.contract.capture import ArtifactSink


class AtSink:
    """The request's sink. What it has taken stays with it, even where a later file fails: the report names none."""

    def __init__(self, sink: Sink, *, silence_ms: int) -> None:
        self._sink = sink
        self._silence_ms = silence_ms

    @property
    def silent_share_ms(self) -> int:
        """A sink beyond this machine may be silent: the page leaves the time for that."""
        return share_ms(self._silence_ms)

    async def give(self, batch: Batch) -> dict[str, str]:
        """One after the other, each streamed from disk."""
        try:
            return {name: await self._sink.upload(name, path) for path, name in batch.files}
        except SinkError as error:
            raise CaptureFault("artifact_sink", str(error), step="write") from None

    async def put(self, name: str, data: bytes) -> str:
        """Sent from memory."""
        try:
            return await self._sink.send(name, data)
        except SinkError as error:
            raise CaptureFault("artifact_sink", str(error), step="write") from None


def place_of(store: Store, settings: Settings, asked: ArtifactSink | None, folder: PurePath) -> Place:
    """Where this request's files go. `folder` is below the store's root."""
    if asked is None:
        return store.place(folder)
    silence_ms = settings.sink_silence_ms
    return AtSink(
        Sink(asked.url, asked.token, silence_ms=silence_ms, tls_ca=settings.sink_tls_ca), silence_ms=silence_ms
    )
