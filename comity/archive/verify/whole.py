"""All steps in their order. A step that needs what an earlier one could not find is skipped, and says so."""

from typing import BinaryIO

from comity.archive.signing.checks import Trust, check_signature
from comity.archive.verify.container import Container, check_stored, check_zip, open_container, unvouched_bytes
from comity.archive.verify.index import check_index, check_pages
from comity.archive.verify.layout import check_layout
from comity.archive.verify.package import (
    PACKAGE,
    Described,
    check_digest,
    check_resources,
    read_description,
    read_digest,
)
from comity.archive.verify.records import check_records
from comity.archive.verify.steps import Step, Verdict, judged, ok, skipped

NOBODY = Trust()
STEPS = ("zip", "stored", "datapackage", "digest", "resources", "records", "index", "pages", "signature")


def verify(file: BinaryIO, trust: Trust = NOBODY) -> Verdict:
    """Checks the WACZ in `file`, which can be sought. Raises OSError where it cannot be read."""
    container = open_container(file)
    if isinstance(container, Step):
        return Verdict((container, *(skipped(name, "needs a readable ZIP") for name in STEPS[1:])))
    return Verdict((*_steps(container), *_signature(container, trust)))


def _signature(container: Container, trust: Trust) -> list[Step]:
    told = read_digest(container)
    if told is None or "signedData" not in told:
        return [skipped("signature", "not signed")]
    return check_signature(told["signedData"], f"sha256:{container.hashes.get(PACKAGE)}", trust)


def _between(container: Container, whole: Step, described: Described | None) -> Step:
    """The step for the ZIP again, with what is to be said of the bytes between its members."""
    if described and described.ours:
        told = f"{whole.reason}, and between them only what was written there"
        return judged(whole.name, told, check_layout(container, described.facts.get("created")))
    rest = unvouched_bytes(container)
    told = f"{whole.reason}; nothing vouches for {rest} bytes between them (extra fields, descriptors, comments, gaps)"
    return ok(whole.name, told) if rest else whole


def _steps(container: Container) -> list[Step]:
    zip_step = check_zip(container)
    described, described_step = read_description(container)
    ours = described is not None and described.ours
    stored_step = check_stored(container, ours=ours)
    if zip_step.outcome == stored_step.outcome == "ok":
        zip_step = _between(container, zip_step, described)
    found, records_step = check_records(container)
    indexed, index_step = check_index(container, found)
    resources = (
        check_resources(container, described)
        if described
        else skipped("resources", "needs a readable datapackage.json")
    )
    return [
        zip_step,
        stored_step,
        described_step,
        check_digest(container),
        resources,
        records_step,
        index_step,
        check_pages(container, indexed),
    ]
