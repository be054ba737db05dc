"""Taking consent banners out of the way before the page is read: known frameworks, given selectors, large overlays.

Nothing is ever consented to: a framework's own button to refuse is pressed where it has one, everything else is hidden.
What was done is told in the report, since the archive's page then differs from what a visitor saw.
"""

import json
from importlib import resources
from typing import Any

from comity.capture.banner_frameworks import FRAMEWORKS
from comity.capture.errors import CaptureFault
from comity.capture.formats import Reader
from comity.capture.tab import Tab
from comity.contract.capture import Banners, BannerSpec, DismissBanners

BUDGET_MS = 5_000
PATIENCE_MS = 500
"""How long a framework's banner may take to go after its button was pressed; then it is hidden."""
STEP = "banners"
SCRIPT = (resources.files("comity.capture") / "banners.js").read_text(encoding="utf-8")


def spec_of(asked: DismissBanners | None) -> BannerSpec | None:
    """What is to be done; None: nothing."""
    if asked is None or asked.enabled is False:
        return None
    return asked.spec or BannerSpec()


async def dismiss(tab: Tab, spec: BannerSpec) -> Banners:
    """One pass over the main frame as it stands.

    Raises CaptureFault for what went wrong where `failOnError` asks for it; otherwise the errors are in the answer.
    A page that dies ends the capture in either case.
    """
    try:
        told: dict[str, Any] = json.loads(str(await Reader(tab, BUDGET_MS).evaluate(expression(spec), STEP)))
        banners = Banners.model_validate(told)
    except CaptureFault as fault:
        if spec.fail_on_error or tab.gone:
            raise
        return Banners(errors=[fault.message])
    if banners.errors and spec.fail_on_error:
        raise CaptureFault("internal", f"banners could not be dismissed: {'; '.join(banners.errors)}", step=STEP)
    return banners


def expression(spec: BannerSpec) -> str:
    """The script's call for this spec."""
    excluded = set(spec.exclude_frameworks)
    heuristic = spec.heuristic
    wanted = {
        "frameworks": [
            {"name": known.name, "banner": known.banner, "refuse": known.refuse}
            for known in (FRAMEWORKS if spec.use_defaults else ())
            if known.name not in excluded
        ],
        "selectors": spec.extra_selectors,
        "heuristic": {"ratio": heuristic.min_viewport_coverage_ratio, "zIndex": heuristic.min_z_index}
        if heuristic.enabled
        else None,
        "patienceMs": PATIENCE_MS,
    }
    return f"{SCRIPT.strip()}({json.dumps(wanted)})"


def together(passes: list[Banners]) -> Banners | None:
    """What all passes of one page load did; None where none was asked for."""
    if not passes:
        return None
    errors = dict.fromkeys(error for one in passes for error in one.errors)
    return Banners(dismissed=[item for one in passes for item in one.dismissed], errors=list(errors))
