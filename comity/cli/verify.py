"""`comity verify`: what the checks found, for people and programs."""

import json
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from comity.archive.signing.certificates import Chain, read_chain
from comity.archive.signing.checks import Trust
from comity.archive.verify.steps import Verdict
from comity.archive.verify.whole import verify
from comity.cli.console import output
from comity.cli.errors import BadInput

STYLES = {"ok": "green", "failed": "bold red", "skipped": "yellow"}


def run_verify(path: Path, trusted: Sequence[Path] = (), *, as_json: bool) -> int:
    """The exit status: 0 where nothing failed. Raises BadInput for a file that cannot be read."""
    trust = trust_of(trusted)
    try:
        with path.open("rb") as file:
            verdict = verify(file, trust)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None
    if as_json:
        facts = {"file": str(path), "ok": verdict.ok, "steps": [step.as_json() for step in verdict.steps]}
        print(json.dumps(facts, indent=2))
    else:
        output().print(render_verdict(path, verdict))
    return 0 if verdict.ok else 1


def trust_of(files: Sequence[Path]) -> Trust:
    """The roots in these files; without any, this machine's, which settle nothing where they are not met."""
    if not files:
        return Trust(_machine_roots())
    roots: list[x509.Certificate] = []
    for path in files:
        try:
            roots += read_chain(path.read_bytes())
        except OSError as error:
            raise BadInput(f"--trust {path}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise BadInput(f"--trust {path}: is no PEM list of certificates: {error}") from None
    return Trust(tuple(roots), tuple(roots), given=True)


def _machine_roots() -> Chain:
    place = ssl.get_default_verify_paths().cafile
    try:
        return read_chain(Path(place).read_bytes()) if place else ()
    except (OSError, ValueError):
        return ()


def render_verdict(path: Path, verdict: Verdict) -> RenderableType:
    """One line per step, what failed named below it, and the sum."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for step in verdict.steps:
        said = Text(step.reason, overflow="fold")
        for detail in step.details:
            said.append(f"\n{detail}", "dim")
        table.add_row(Text(step.outcome, STYLES[step.outcome]), Text(step.name), said)
    return Group(table, Text(), _sum(path, verdict))


def _sum(path: Path, verdict: Verdict) -> Text:
    skipped = [step.name for step in verdict.steps if step.outcome == "skipped"]
    beside = f"; not checked: {', '.join(skipped)}" if skipped else ""
    if verdict.ok:
        return Text.assemble((f"{path.name} is what it says it is", "bold green"), beside)
    names = ", ".join(step.name for step in verdict.failures)
    return Text.assemble((f"{path.name} FAILED: {names}", "bold red"), beside)
