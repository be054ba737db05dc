"""What every host of a level needs to know. Frozen and picklable, so that a host can be crawled in another process."""

from dataclasses import dataclass

from pydantic import ValidationError

from blocks.rules import first_problem
from comity.contract.capture import ArtifactSink, CaptureRequest, PageScript, PageSettings
from comity.contract.ledger import WorkOrder, WorkOrderCapture
from flows.rules.pacing import Pacing
from flows.rules.plan import PageWork
from flows.rules.scripts import RunnableScripts


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """Which level, by which run, and what every capture of it asks for."""

    crawl_id: str
    depth: int
    attempt: int
    run_id: str
    max_host_delay_ms: int
    capture: WorkOrderCapture
    preload: tuple[PageScript, ...]
    behaviors: tuple[PageScript, ...]
    artifact_sink: ArtifactSink | None
    pacing: Pacing


def level_facts(order: WorkOrder, scripts: RunnableScripts | None, *, run_id: str, pacing: Pacing) -> LevelFacts:
    """The work order and its compiled scripts (None: not compiled yet), as the hosts need them."""
    return LevelFacts(
        crawl_id=order.crawl_id,
        depth=order.depth,
        attempt=order.attempt,
        run_id=run_id,
        max_host_delay_ms=order.max_host_delay_ms,
        capture=order.capture,
        preload=scripts.preload if scripts else (),
        behaviors=scripts.behaviors if scripts else (),
        artifact_sink=order.artifact_sink,
        pacing=pacing,
    )


def correlation_id(facts: LevelFacts, page_id: str, number: int) -> str:
    """`{crawlId}.{pageId}.{attempt}.{try}`: a capture that was never reported is found by it."""
    return f"{facts.crawl_id}.{page_id}.{facts.attempt}.{number}"


def capture_request(facts: LevelFacts, page: PageWork, number: int, sink: ArtifactSink | None) -> CaptureRequest:
    """What a capture server is asked for this page at its try `number`; `sink` is the level's, as it is now.

    Raises ValueError, one line, where the page cannot be asked for at all (for example a URL that is too long).
    """
    settings = {name: getattr(facts.capture, name) for name in PageSettings.model_fields}
    try:
        return CaptureRequest(
            **settings,
            url=page.url,
            capture_formats=facts.capture.formats,
            signing=facts.capture.signing or None,
            correlation_id=correlation_id(facts, page.page_id, number),
            preload=list(facts.preload),
            behaviors=list(facts.behaviors),
            artifact_sink=sink,
        )
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
