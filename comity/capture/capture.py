"""One capture from request to answer: the page, its artifacts, and the manifest that is written whatever happens."""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from comity.archive.wacz import Member
from comity.capture import behaviors, package, storage_values, webp
from comity.capture.browser import BUSY_BUDGET_S, Identity
from comity.capture.coverage import coverage
from comity.capture.errors import CaptureFault, timed_out
from comity.capture.exchange import header_of
from comity.capture.formats import About, Reader
from comity.capture.load import Loaded, Watched, load, main_status, pause
from comity.capture.names import FORMATS, Kind, day_folder, file_name, stem
from comity.capture.opening import DEFAULT_VIEWPORT, Equipment, open_page
from comity.capture.places import place_of
from comity.capture.recorder import Recorder
from comity.capture.settings import WRITES_SHARE_MS
from comity.capture.signing import SigningError
from comity.capture.store import Batch
from comity.capture.trace import Trace
from comity.capture.warc_records import Exchanges
from comity.contract.capture import (
    MANIFEST_BUDGET_MS,
    Artifacts,
    CaptureAnswer,
    CaptureReport,
    CaptureRequest,
    ManifestOutcome,
    Settle,
)
from comity.polite.rules.retry_after import retry_after_ms

DRAIN_BUDGET_S = 45.0
"""Somewhat longer than one large body may take."""
TRACE_BUDGET_S = 2.0
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Findings:
    """What is known so far; a capture that fails reports what it had."""

    final_url: str | None = None
    http_status: int | None = None
    retry_after_ms: int | None = None
    loads: list[Loaded] = field(default_factory=list)
    taken: dict[Kind, bytes] = field(default_factory=dict)
    about: About | None = None
    storage: tuple[Member, ...] = ()
    locations: dict[str, str] = field(default_factory=dict)
    signature: dict[str, Any] | None = None


class Capture:
    """Runs once. `run` answers for every outcome, cancellation too; it raises nothing."""

    def __init__(self, equipment: Equipment, request: CaptureRequest, task_id: str) -> None:
        self._with = equipment
        self._request = request
        self._task_id = task_id
        self._started_at = datetime.now(UTC)
        self._started_s = monotonic()
        self._stem = stem(task_id, request.correlation_id, request.labels)
        self._found = Findings()
        self._recorder: Recorder | None = None
        self._webp: asyncio.Task[bytes] | None = None
        """Begun as soon as the picture is there: it takes longer than all the rest that is read."""
        self._giving = False
        self._trace = Trace()
        self._place = place_of(equipment.store, equipment.settings, request.artifact_sink, day_folder(self._started_at))

    async def run(self) -> CaptureAnswer:
        """Captures, writes the manifest, answers. Cancelling the task cancels the capture, not its manifest."""
        fault = await self._attempt()
        silent = self._recorder is not None and self._recorder.browser_silent
        if silent or (fault is not None and fault.kind in ("timeout", "internal")):
            # A silent site and a browser whose network service hangs look alike; a new browser costs 0.1 s.
            self._with.browser.condemn()
        kept = await self._keep_trace() if self._request.trace else None
        report = self._report(fault, kept)
        manifest = await self._write_manifest(report)
        log.info(
            "%s %s in %d ms%s",
            report.status,
            self._request.url,
            report.capture_processing_time_ms,
            f": {fault.kind}: {fault.message}" if fault else "",
        )
        return CaptureAnswer(task_id=self._task_id, report=report, manifest=manifest)

    async def _attempt(self) -> CaptureFault | None:
        budget_ms = self._with.settings.budget_ms
        try:
            async with asyncio.timeout(budget_ms / 1000):
                with self._trace.step("capture", "all of it"):
                    await self._capture(budget_ms)
        except CaptureFault as fault:
            return fault
        except TimeoutError:
            return self._out_of_time(budget_ms)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            return CaptureFault("cancelled", "the caller hung up or the server is ending")
        except OSError as error:
            return CaptureFault("internal", f"the artifacts cannot be written: {error}", step="write")
        except Exception:
            log.exception("ended by a fault of this server")
            return CaptureFault("internal", f"a fault of the capture server; its log has task {self._task_id}")
        return None

    def _out_of_time(self, budget_ms: int) -> CaptureFault:
        if self._giving:
            where = "sink" if self._request.artifact_sink is not None else "store"
            return CaptureFault("artifact_sink", f"the artifact {where} was not done in time", step="write")
        return timed_out("the capture", budget_ms, step="capture")

    async def _capture(self, budget_ms: int) -> None:
        """The whole work. On return every artifact has its name."""
        batch = await asyncio.to_thread(self._with.store.batch, self._task_id)
        try:
            writes_ms = WRITES_SHARE_MS + self._place.silent_share_ms
            if self._signs:
                writes_ms += self._with.signing.budget_ms
            page_budget_ms = max(budget_ms - writes_ms, budget_ms // 2)
            await self._in_browser(batch, page_budget_ms)
            with self._trace.step("write", "the artifacts' names"):
                self._giving = True
                self._found.locations = await self._place.give(batch)
        finally:
            await asyncio.to_thread(batch.discard)

    async def _in_browser(self, batch: Batch, budget_ms: int) -> None:
        exchanges = Exchanges(batch.work / "data.warc.gz") if self._request.capture_formats.wacz else None
        ends_s = asyncio.get_running_loop().time() + budget_ms / 1000
        try:
            page = await open_page(self._with, self._request, exchanges, self._trace)
            self._recorder = page.recorder
            try:
                identity = self._with.browser.identity
                if identity is None:
                    raise CaptureFault("internal", "the browser has not told its version", step="browser")
                if exchanges is not None:
                    exchanges.add_info(self._started_at, package.info_fields(self._with.build, identity, self._task_id))
                await self._read(page, batch, ends_s, budget_ms)
            except BaseException:
                await self._close(page)
                raise
            # The browser needs none of us to close the page: meanwhile what it gave is packed.
            closing = asyncio.create_task(self._close(page), name="closing-page")
            try:
                with self._trace.step("write", "the artifacts' bytes"):
                    await self._pack(batch, exchanges, page.recorder, identity)
            finally:
                await closing
        finally:
            if self._webp is not None:
                self._webp.cancel()
            if exchanges is not None:
                exchanges.close()

    async def _read(self, page: Watched, batch: Batch, ends_s: float, budget_ms: int) -> None:
        """All that is wanted of the page. Raises CaptureFault."""
        try:
            async with asyncio.timeout_at(ends_s):
                await self._take(page, batch, ends_s)
                await self._gather(page)
        except TimeoutError:
            raise await self._silence(timed_out("the page", budget_ms, step="capture")) from None
        except CaptureFault as fault:
            raise await self._silence(fault) from None
        finally:
            self._note_main(page.recorder)
            page.recorder.end()

    async def _close(self, page: Watched) -> None:
        with self._trace.step("browser", "closing the page"):
            await page.tab.close()
        self._with.sockets.rest()

    async def _gather(self, page: Watched) -> None:
        """The last of what the page fetched. Raises CaptureFault."""
        with self._trace.step("wacz", "the last bodies"):
            await page.held.finish()
            await page.recorder.drain(DRAIN_BUDGET_S)
            await page.recorder.tls.fetch_chains(page.tab.main)
            if not await self._with.browser.whole(budget_s=BUSY_BUDGET_S):
                # What the page asked of a part that died, it may lack without any event that tells of it.
                raise CaptureFault(
                    "internal", "a part of the browser died or fell silent during the capture", step="wacz"
                )

    async def _silence(self, fault: CaptureFault) -> CaptureFault:
        """The fault as it is: what took too long or broke off is not the page's where part of the browser died."""
        if fault.kind not in ("timeout", "connection") or await self._with.browser.whole(budget_s=BUSY_BUDGET_S):
            return fault
        said = "the browser does not answer any more" if fault.kind == "timeout" else "a part of the browser died"
        return CaptureFault("internal", f"{said}: {fault}", step=fault.step)

    async def _take(self, page: Watched, batch: Batch, ends_s: float) -> None:
        """Loads the page as often as asked, then reads it once; all of it before the loop time `ends_s`."""
        request = self._request

        def on_load() -> None:
            asyncio.get_running_loop().run_in_executor(None, batch.sync_backlog)

        for index, ratio in enumerate(request.device_pixel_ratios or [1]):
            loaded = await load(
                page, request, self._with.settings, ratio=ratio, again=index > 0, ends_s=ends_s, on_load=on_load
            )
            self._found.loads.append(loaded)
            if loaded.settle is None:
                self._only_wacz(page)
                return
        await pause(page.tab, request.operation_delay_ms or 0)
        reader = Reader(page.tab, self._with.settings.step_ms)
        about = await reader.about()
        self._found.about, self._found.final_url = about, about.url
        formats = request.capture_formats
        if request.storage_values:
            self._found.storage = await storage_values.members(page.tab)
        if formats.png or formats.webp:
            await self._take_picture(reader)
        if formats.html:
            self._found.taken["html"] = await reader.html()
        if formats.links:
            self._found.taken["links"] = await reader.links(request.url, about.url, _robots_headers(page.recorder))
        if formats.mhtml:
            self._found.taken["mhtml"] = await reader.mhtml()

    async def _take_picture(self, reader: Reader) -> None:
        formats = self._request.capture_formats
        png = await reader.png(full_page=bool(self._request.full_page))
        if formats.png:
            self._found.taken["png"] = png
        if formats.webp:
            self._webp = asyncio.create_task(asyncio.to_thread(webp.from_png, png), name="webp")

    def _only_wacz(self, page: Watched) -> None:
        if not self._request.capture_formats.wacz:
            url = page.held.downloads[-1]
            raise CaptureFault("http", f"{url} is a download, which only captureFormats.wacz can keep", step="navigate")

    def _note_main(self, recorder: Recorder) -> None:
        """What the main document answered, known even where the capture failed."""
        self._found.http_status = main_status(recorder)
        if recorder.main is None:
            return
        hop = recorder.main.last
        self._found.final_url = self._found.final_url or hop.url
        if hop.response is not None:
            value = next((v for k, v in hop.response_headers.items() if k.lower() == "retry-after"), None)
            self._found.retry_after_ms = retry_after_ms(value, datetime.now(UTC))

    async def _pack(self, batch: Batch, exchanges: Exchanges | None, recorder: Recorder, identity: Identity) -> None:
        """Every artifact under its temporary name. Raises OSError, and CaptureFault where it cannot be signed."""
        await asyncio.to_thread(self._fill, batch, exchanges, recorder, identity)
        if self._webp is not None:
            with self._trace.step("webp", "the rest of the picture as WebP"):
                picture = await self._webp
            await asyncio.to_thread(batch.put, file_name(self._stem, "webp"), picture)
        with self._trace.step("write", "what the disk still had to take"):
            await asyncio.to_thread(batch.sync)

    def _fill(self, batch: Batch, exchanges: Exchanges | None, recorder: Recorder, identity: Identity) -> None:
        """Writes every artifact under its temporary name. Blocks; raises OSError."""
        for kind, data in self._found.taken.items():
            batch.put(file_name(self._stem, kind), data)
        self._found.taken.clear()
        if exchanges is not None:
            with batch.open(file_name(self._stem, "wacz")) as out:
                sign = self._sign if self._signs else None
                package.write(out, exchanges, recorder.tally, self._told(recorder, identity), sign)

    @property
    def _signs(self) -> bool:
        return self._request.capture_formats.wacz and self._with.signing.wanted(self._request.signing)

    def _sign(self, digest: str) -> Mapping[str, Any]:
        """`signedData` for the archive. Raises CaptureFault: an archive that cannot be signed is none."""
        try:
            with self._trace.step("sign", "the signature, its time stamp, and their checks"):
                signed = self._with.signing.sign(digest)
        except SigningError as error:
            self._found.signature = error.report()
            raise CaptureFault("signing", str(error), step="sign") from None
        self._found.signature = signed.report()
        return signed.data

    def _told(self, recorder: Recorder, identity: Identity) -> package.Told:
        request, found = self._request, self._found
        scripts = [("preload", script) for script in request.preload]
        scripts += [("behavior", script) for script in request.behaviors]
        first = recorder.main.hops[0].date if recorder.main is not None else self._started_at
        viewport = request.viewport or DEFAULT_VIEWPORT
        return package.Told(
            task_id=self._task_id,
            request=request,
            applied=package.applied_settings(
                request,
                viewport=viewport.to_wire(),
                maxResponseBytes=request.max_response_bytes or self._with.settings.max_response_bytes,
                session=request.session or "isolated",
                signing=self._signs,
            ),
            build=self._with.build,
            browser=identity,
            started_at=self._started_at,
            page_at=first,
            final_url=found.final_url or request.url,
            title=found.about.title if found.about else "",
            text=found.about.text if found.about else "",
            settle=self._settle(),
            banners=found.loads[-1].banners if found.loads else None,
            coverage=coverage(found.about, found.loads),
            http_status=found.http_status,
            extra=behaviors.members(scripts, [loaded.runs for loaded in found.loads]) + found.storage,
            tls=recorder.tls.observations,
        )

    def _report(self, fault: CaptureFault | None, trace_location: str | None) -> CaptureReport:
        found, recorder = self._found, self._recorder
        archived = fault is None and self._request.capture_formats.wacz and recorder is not None
        policed = fault is not None and fault.kind == "policy"  # what was blocked is why there is no archive
        return CaptureReport(
            task_id=self._task_id,
            correlation_id=self._request.correlation_id,
            url=self._request.url,
            final_url=found.final_url,
            labels=self._request.labels,
            status=fault.status if fault else "success",
            http_status_code=found.http_status,
            retry_after_ms=found.retry_after_ms,
            timestamp=self._started_at,
            capture_processing_time_ms=round((monotonic() - self._started_s) * 1000),
            artifacts=self._artifacts() if fault is None else Artifacts(),
            wacz_stats=package.stats(recorder.tally) if recorder and (archived or policed) else None,
            completeness=package.completeness(recorder.tally) if archived and recorder else None,
            coverage=coverage(found.about, found.loads),
            settle=self._settle(),
            signature=found.signature,
            banners=self._found.loads[-1].banners if self._found.loads else None,
            trace_location=trace_location,
            error_details=fault.details() if fault else None,
        )

    def _settle(self) -> Settle | None:
        return self._found.loads[-1].settle if self._found.loads else None

    def _artifacts(self) -> Artifacts:
        located = {kind: self._found.locations.get(file_name(self._stem, kind)) for kind in FORMATS}
        return Artifacts.model_validate(located)

    async def _write_manifest(self, report: CaptureReport) -> ManifestOutcome:
        data = json.dumps(report.to_wire(), ensure_ascii=False, indent=2).encode("utf-8")
        try:
            async with asyncio.timeout(MANIFEST_BUDGET_MS / 1000):
                location = await self._place.put(file_name(self._stem, "result"), data)
        except CaptureFault as fault:
            return ManifestOutcome(error=fault.message)
        except TimeoutError:
            return ManifestOutcome(error=f"the store took longer than {MANIFEST_BUDGET_MS} ms")
        except asyncio.CancelledError:
            return ManifestOutcome(error="the server ended before the manifest was written")
        except OSError as error:
            return ManifestOutcome(error=f"the store refused the manifest: {error}")
        return ManifestOutcome(location=location)

    async def _keep_trace(self) -> str | None:
        """Kept for every outcome, a bad one most of all. None, and a line in the log, where it could not be."""
        try:
            async with asyncio.timeout(TRACE_BUDGET_S):
                return await self._place.put(file_name(self._stem, "trace"), self._trace.lines())
        except (CaptureFault, OSError, TimeoutError, asyncio.CancelledError) as error:
            log.warning("the trace could not be kept: %s", error or type(error).__name__)
            return None


def _robots_headers(recorder: Recorder) -> list[str]:
    """Each `X-Robots-Tag` of the document; the browser tells those of one name together, one to a line."""
    headers = recorder.main.last.response_headers if recorder.main is not None else {}
    return (header_of(headers, "x-robots-tag") or "").splitlines()
