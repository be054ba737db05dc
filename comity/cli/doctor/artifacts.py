"""Whether what a capture server writes lies where the ledger reads, by the manifest that every capture leaves.

The probe asks for a host that cannot exist (RFC 2606): nobody is visited, the browser says that there is no such host,
and the manifest of that failure lies where the artifacts of a success would.
"""

import threading
from pathlib import Path

from blocks.clients.capture import CaptureClient
from blocks.clients.errors import CaptureBusy, ServiceError
from blocks.load import ComityBlocks
from comity.cli.doctor.reach import ARTIFACT_ROOT_VARIABLE
from comity.cli.summary import path_of
from comity.contract.capture import CaptureAnswer, CaptureFormats, CaptureRequest
from flows.doctor_links import Link

PROBE_DEADLINE_MS = 60_000
PROBE_URL = "http://comity.invalid/"
EXPECTED = ("connection", "policy")
"""How a browser that works ends a capture of no host. Anything else is a fault of the server."""
PROBE = CaptureFormats(png=False, webp=False, html=True, links=False, mhtml=False, wacz=False)


def look_at_artifacts(blocks: ComityBlocks, root: Path | None) -> list[Link]:
    """One link per capture server. What the probes wrote is removed again. `root`: the folder that the ledger reads."""
    if root is None:
        return [Link("artifacts", True, f"not looked at: {ARTIFACT_ROOT_VARIABLE} is not set here")]
    return [_probe(client, root) for client in blocks.endpoints.clients()]


def _probe(client: CaptureClient, root: Path) -> Link:
    name = f"artifacts of {client.url}"
    request = CaptureRequest(url=PROBE_URL, capture_formats=PROBE, labels=["doctor"])
    try:
        with client:
            answer = client.capture(request, stop=threading.Event(), deadline_ms=PROBE_DEADLINE_MS)
    except CaptureBusy:
        return Link(name, True, "busy with a crawl; not probed")
    except ServiceError as error:
        return Link(name, False, error.happened, f"see the log of the capture server at {client.url}")
    return _judge(name, answer, root)


def _judge(name: str, answer: CaptureAnswer, root: Path) -> Link:
    details = answer.report.error_details
    if answer.manifest.location is None or details is None or details.type not in EXPECTED:
        said = details.message if details else answer.manifest.error or answer.report.status
        return Link(
            name, False, f"the probe capture ended {answer.report.status}: {said}", "see the capture server's log"
        )
    manifest = Path(path_of(answer.manifest.location))
    if not manifest.is_file() or not manifest.resolve().is_relative_to(root.resolve()):
        fix = f"give the capture server CAPTURE_STORE={root} and the ledger LEDGER_ARTIFACT_ROOT={root}"
        return Link(name, False, f"{manifest} is not in the folder that the ledger reads", fix)
    manifest.unlink(missing_ok=True)
    return Link(name, True, f"written below {root}")
