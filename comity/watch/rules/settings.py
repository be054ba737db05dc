"""What of a page is watched, and what counts as a change of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import re2

from comity.contract.watch import MAX_CONTENT_BYTES, ByExtractor, BySelector, WatchSettings
from comity.watch.errors import BadWatchSettings

DEFAULT_KEPT_BYTES = 256 * 1024
MAX_PROGRAM_SIZE = 5_000
"""Instructions of one pattern, repetitions written out: RE2 is linear in this too."""

Part = Literal["whole", "main", "selector", "extractor"]


@dataclass(frozen=True, slots=True)
class ContentSettings:
    """Which part of a page is watched, and how two versions of it are compared."""

    part: Part = "whole"
    """`whole` page, `main` content, what a CSS `selector` matches, or the fields of an `extractor`."""
    instead_of_main: bool = False
    """The whole page, because no main content was found when it was first read: see `choosing`."""
    selector: str = ""
    extractor: str = ""
    """Which extractor, in words that change when it does: its id and version."""
    ignore: tuple[str, ...] = ()
    """RE2 patterns: lines that one of them matches are neither compared nor shown as changed."""
    digits_count: bool = True
    """False: a change of digits alone is none."""
    order_counts: bool = True
    """False: the same lines in another order are no change."""
    kept_bytes: int = DEFAULT_KEPT_BYTES
    """Text beyond this, as UTF-8, is cut off, at the end of a line where there is one."""

    @property
    def basis(self) -> str:
        """Two texts can be compared where they have the same basis."""
        named = {"selector": self.selector, "extractor": self.extractor}
        what = "main" if self.instead_of_main else named.get(self.part, "")
        return f"{TEXT_VERSION}:{self.part}:{what}"


TEXT_VERSION = 1
"""Goes up when the same page gives other lines than before: what was kept is then replaced without being told."""


def check(settings: ContentSettings) -> None:
    """Raises BadWatchSettings naming the first field that cannot work. Selectors are tried by `text.check_selector`."""
    if not 1_000 <= settings.kept_bytes <= MAX_CONTENT_BYTES:
        raise BadWatchSettings("keptBytes", f"must be 1000 to {MAX_CONTENT_BYTES}")
    if (settings.part == "selector") is not bool(settings.selector):
        raise BadWatchSettings("watched.selector", "goes with kind `selector`, and that needs one")
    if (settings.part == "extractor") is not bool(settings.extractor):
        raise BadWatchSettings("watched.id", "goes with kind `extractor`, and that needs one")
    for place, pattern in enumerate(settings.ignore):
        try:
            compiled(pattern)
        except ValueError as error:
            raise BadWatchSettings(f"ignore.{place}", str(error)) from None


def content_settings(wire: WatchSettings, *, kept_bytes: int = DEFAULT_KEPT_BYTES) -> ContentSettings:
    """The part of a page's settings that is about its content."""
    match wire.watched:
        case BySelector(selector=selector):
            named: dict[str, Any] = {"selector": selector}
        case ByExtractor(id=name, version=version, fields=fields):
            named = {"extractor": f"{name} {version} {','.join(fields)}".strip()}
        case _:
            named = {}
    return ContentSettings(
        part=wire.watched.kind,
        ignore=tuple(wire.ignore),
        digits_count=not wire.mask_digits,
        order_counts=wire.order_counts,
        kept_bytes=kept_bytes,
        **named,
    )


@lru_cache(maxsize=1024)
def ignoring(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a line is to be passed over."""
    searches = [compiled(pattern).search for pattern in patterns]

    def ignored(line: str) -> bool:
        data = line.encode()
        return any(search(data) is not None for search in searches)

    return ignored


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> Any:
    """An ignore pattern, over UTF-8 bytes, which costs a tenth of text. Raises ValueError with RE2's words."""
    if "\\C" in pattern:
        raise ValueError("uses \\C, which tears characters apart; write . instead")
    options = re2.Options()
    options.log_errors = False  # the caller is told, standard error is not
    try:
        ready = re2.compile(pattern.encode(), options)
    except re2.error as error:
        said = error.args[0] if error.args else "is no pattern"
        raise ValueError(f"is not RE2: {said.decode(errors='replace') if isinstance(said, bytes) else said}") from None
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode") from None
    if ready.programsize > MAX_PROGRAM_SIZE:
        raise ValueError(f"is too large with its repetitions written out; {MAX_PROGRAM_SIZE} instructions are allowed")
    return ready
