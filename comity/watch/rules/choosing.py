"""Main content or the whole page: chosen when a page is first read, and kept.

Pages that only list links have no main content, and on many others it comes and goes with a banner. So a page without
any at its first visit is watched whole, and one that had some fails where it is gone: a visit that took the other part
would find everything changed.
"""

from dataclasses import dataclass, replace

from comity.watch.rules.settings import ContentSettings


@dataclass(frozen=True, slots=True)
class Choice:
    """How a page is read, and how `otherwise` where there is nothing: None once that is decided."""

    settings: ContentSettings
    otherwise: ContentSettings | None = None


def choice(settings: ContentSettings, basis: str = "") -> Choice:
    """As the content was read that is known, by its basis; open where none is known, or one of other settings."""
    if settings.part != "main":
        return Choice(settings)
    whole = replace(settings, part="whole", instead_of_main=True)
    if basis == whole.basis:
        return Choice(whole)
    return Choice(settings, None if basis == settings.basis else whole)


def is_instead_of_main(basis: str) -> bool:
    """Whether the whole page was taken because it had no main content."""
    return basis == ContentSettings(part="whole", instead_of_main=True).basis
