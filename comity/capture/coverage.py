"""How much of the page was in view: our own measure, and beside it what scrolling scripts claim."""

from collections.abc import Sequence

from comity.capture.formats import About
from comity.capture.load import Loaded
from comity.contract.capture import Coverage

SCROLLED = "reachedBottom"
"""A report with this key is a scrolling script's."""
MAX_CLAIM_CHARACTERS = 200


def coverage(about: About | None, loads: Sequence[Loaded]) -> Coverage | None:
    """Of the last load; None where no page was read."""
    if about is None or not loads:
        return None
    claims = {run.script_id: run.data for run in loads[-1].runs if isinstance(run.data, dict) and SCROLLED in run.data}
    cut = next((claim["cutBy"] for claim in claims.values() if isinstance(claim.get("cutBy"), str)), None)
    return Coverage(
        document_height_px=about.document_px,
        viewport_height_px=about.window_px,
        seen_height_px=min(about.seen_px, about.document_px),
        complete=about.all_seen,
        cut_by=cut[:MAX_CLAIM_CHARACTERS] if cut else None,
        claims=claims,
    )
