"""`comity doctor` from beginning to end: look, show, exit status."""

import json
import sys
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from comity.cli.console import output
from comity.cli.data_folder import DataFolder
from comity.cli.doctor.machine import look_at_machine
from comity.cli.doctor.prefect_side import PrefectSide
from comity.cli.doctor.reach import Reach, reach_of
from comity.cli.errors import NoStack
from flows.doctor_links import Link, look_at_blocks, look_at_services


def run_doctor(data: DataFolder, *, as_json: bool) -> int:
    """The exit status: 0 where every link holds."""
    if not as_json:
        print("looking at every link, from here and from a flow run on the pool", file=sys.stderr, flush=True)
    try:
        reach = reach_of(data)
    except NoStack as error:
        missing = Link("Prefect", False, str(error), f"comity up --data {data.root}, or set PREFECT_API_URL")
        links = [*look_at_machine(data), missing]
    else:
        links = (look_at_machine(data) if reach.embedded else []) + _look_at_prefect(reach)
    if as_json:
        print(json.dumps({"ok": all(link.ok for link in links), "links": [link.as_json() for link in links]}, indent=2))
    else:
        output().print(render_links(links))
    return 0 if all(link.ok for link in links) else 1


def _look_at_prefect(reach: Reach) -> list[Link]:
    """With the access that `use_prefect_of` has set for Prefect's own client too."""
    from comity.cli.doctor.artifacts import look_at_artifacts
    from comity.cli.doctor.crawls import look_at_crawls
    from comity.cli.doctor.from_pool import look_from_pool

    prefect = PrefectSide(reach.api_url, reach.basic)
    try:
        links = prefect.look()
        if not links[0].ok:
            return links
        blocks, seen = look_at_blocks()
        links += seen
        if blocks is not None:
            links += look_at_services(blocks)
            links += look_at_artifacts(blocks, reach.artifact_root)
            links += look_at_crawls(blocks)
        return links + look_from_pool(prefect)
    finally:
        prefect.close()


def render_links(links: Sequence[Link]) -> RenderableType:
    """One line per link; the fix below each that failed."""
    lines = []
    for link in links:
        verdict = ("ok      ", "green") if link.ok else ("failed  ", "bold red")
        lines.append(Text.assemble(verdict, (link.name, "bold"), f": {link.said}"))
        if not link.ok:
            lines.append(Text.assemble("        ", ("fix: ", "bold"), link.fix))
    failed = sum(1 for link in links if not link.ok)
    total = f"{failed} of {len(links)} links failed" if failed else f"all {len(links)} links hold"
    return Group(*lines, Text(total, "bold red" if failed else "bold green"))
