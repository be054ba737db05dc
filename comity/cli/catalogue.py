"""What the commands of the two catalogues have in common, of scripts and of extractors."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from comity.cli.errors import BadInput

if TYPE_CHECKING:
    from comity.contract.extraction import ExtractorDetail, ExtractorView
    from comity.contract.ledger import ScriptDetail, ScriptView

VersionOption = Annotated[int | None, typer.Option(min=1, help="Which one; else the newest.", show_default=False)]
Detail = TypeVar("Detail", "ScriptDetail", "ExtractorDetail")


def check_known(noun: str, ident: str, known: "Iterable[ScriptView | ExtractorView]") -> None:
    """Raises BadInput where the catalogue has no such id."""
    if ident not in [one.id for one in known]:
        raise BadInput(f"no {noun} {ident}: `comity {noun}s list` shows them")


def version_of(noun: str, ident: str, version: int | None, ask: Callable[[], Detail]) -> Detail:
    """What `ask` brings. Raises BadInput where a known id has no such version."""
    from blocks.clients.errors import ServiceRefused

    try:
        return ask()
    except ServiceRefused as refusal:
        if refusal.status != 404:
            raise
        raise BadInput(f"{ident} has no version {version}: `comity {noun}s show {ident}` lists them") from None


def state_of(view: "ScriptView | ExtractorView") -> str:
    """The word for people."""
    return "enabled" if view.enabled else "disabled"


def print_state(view: "ScriptView | ExtractorView") -> None:
    """One line: which version is the newest, and whether crawls may take it."""
    print(f"{view.id}  version {view.version}  {state_of(view)}")


def print_versions(found: "ScriptDetail | ExtractorDetail") -> None:
    """Two lines: the numbers of all versions, and the hash of the one that is shown."""
    print(f"versions  {', '.join(map(str, found.versions))}")
    print(f"sha256    {found.sha256}")
