"""How a page is watched, as options of `add` and `set`: what was said, laid over what is there."""

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.errors import BadInput
from comity.cli.watching.access import fields_named
from comity.cli.watching.watched import watched_part

if TYPE_CHECKING:
    from blocks.clients.watch import WatchClient
    from comity.contract.watch import Watched, WatchPage, WatchSettings

UNITS_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}
NONE = "none"
OPTIONS = (
    "--title, --label, --every, --min, --max, --main, --whole, --selector, --extractor, --field, --ignore, "
    "--any-order, --mask-digits"
)
LabelOption = Annotated[list[str] | None, typer.Option("--label", help="For your own order; repeatable.")]
EveryOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Visit it always after this: 30m, 6h, 2d; none: by how it changes.", show_default=False
    ),
]
MinOption = Annotated[
    str | None, typer.Option("--min", metavar="TIME", help="Never sooner than this, or none.", show_default=False)
]
MaxOption = Annotated[
    str | None, typer.Option("--max", metavar="TIME", help="Never later than this, or none.", show_default=False)
]
IgnoreOption = Annotated[
    list[str] | None, typer.Option(metavar="RE2", help="Lines that match do not count; repeatable.")
]
AnyOrderOption = Annotated[
    bool | None,
    typer.Option("--any-order/--no-any-order", help="Lines that only change places do not count.", show_default=False),
]
MaskDigitsOption = Annotated[
    bool | None, typer.Option("--mask-digits/--no-mask-digits", help="Numbers do not count.", show_default=False)
]


@dataclass(frozen=True)
class Chosen:
    """What was said on the command line; None, False and empty where nothing was."""

    main: bool = False
    whole: bool = False
    selector: str | None = None
    extractor: str | None = None
    fields: list[str] | None = None
    every: str | None = None
    least: str | None = None
    most: str | None = None
    ignore: list[str] | None = None
    any_order: bool | None = None
    mask_digits: bool | None = None

    @property
    def is_empty(self) -> bool:
        return not self.as_options()

    def watched(self, ledger: "WatchClient") -> "Watched | None":
        """The part of a page that was chosen; None where none was. Raises BadInput."""
        if not (self.main or self.whole or self.fields) and self.selector is None and self.extractor is None:
            return None
        return watched_part(
            main=self.main,
            whole=self.whole,
            selector=self.selector,
            extractor=self.extractor,
            fields=self.fields,
            ledger=ledger,
        )

    def over(self, before: "WatchSettings", watched: "Watched | None") -> "WatchSettings":
        """The settings with what was said in the place of what was there. Raises BadInput.

        A fixed interval takes the place of bounds, and bounds that of a fixed interval.
        """
        from comity.contract.watch import WatchSettings
        from comity.watch.errors import BadWatchSettings
        from comity.watch.rules.checking import check_watch_settings

        changes: dict[str, object] = self._intervals()
        if watched is not None:
            changes["watched"] = watched
        if self.ignore is not None:
            changes["ignore"] = [] if self.ignore == [""] else self.ignore
        if self.any_order is not None:
            changes["order_counts"] = not self.any_order
        if self.mask_digits is not None:
            changes["mask_digits"] = self.mask_digits
        with fields_named("--every, --min, --max"):
            kept = {name: getattr(before, name) for name in WatchSettings.model_fields}
            settings = WatchSettings.model_validate({**kept, **changes}, by_name=True)
        try:
            check_watch_settings(settings)
        except BadWatchSettings as error:
            raise BadInput(str(error)) from None
        return settings

    def _intervals(self) -> dict[str, object]:
        said = {
            "fixed_interval_ms": ("--every", self.every),
            "min_interval_ms": ("--min", self.least),
            "max_interval_ms": ("--max", self.most),
        }
        changes: dict[str, object] = {
            name: span_ms(option, text) for name, (option, text) in said.items() if text is not None
        }
        if changes.get("fixed_interval_ms") is not None:
            changes = {"min_interval_ms": None, "max_interval_ms": None, **changes}
        elif any(value is not None for value in changes.values()):
            changes["fixed_interval_ms"] = None
        return changes

    def as_options(self) -> str:
        """The same again, for a shell."""
        words = [name for name, given in (("--main", self.main), ("--whole", self.whole)) if given]
        named = [("--selector", self.selector), ("--extractor", self.extractor)]
        named += [("--field", one) for one in self.fields or []]
        named += [("--every", self.every), ("--min", self.least), ("--max", self.most)]
        named += [("--ignore", one) for one in self.ignore or []]
        words += [f"{name} {shlex.quote(value)}" for name, value in named if value is not None]
        for name, given in (("any-order", self.any_order), ("mask-digits", self.mask_digits)):
            if given is not None:
                words.append(f"--{name}" if given else f"--no-{name}")
        return " ".join(words)


def span_ms(option: str, text: str) -> int | None:
    """A time as it is typed. Raises BadInput."""
    if text == NONE:
        return None
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit()) or unit not in UNITS_MS:
        raise BadInput(f"{option}: {text!r} is no time; write minutes, hours or days as 30m, 6h or 2d")
    return int(number) * UNITS_MS[unit]


def described(page: "WatchPage") -> dict[str, str]:
    """How the page is watched, by the options that change it."""
    settings = page.settings
    return {
        "--title": page.title or NONE,
        "--label": ", ".join(sorted(page.labels)) or NONE,
        "watched": _part(settings.watched),
        "--every": _span(settings.fixed_interval_ms),
        "--min": _span(settings.min_interval_ms),
        "--max": _span(settings.max_interval_ms),
        "--ignore": ", ".join(settings.ignore) or NONE,
        "--any-order": "no" if settings.order_counts else "yes",
        "--mask-digits": "yes" if settings.mask_digits else "no",
    }


def _span(span: int | None) -> str:
    if span is None:
        return NONE
    unit = next((name for name in ("d", "h", "m") if span % UNITS_MS[name] == 0), None)
    return f"{span} ms" if unit is None else f"{span // UNITS_MS[unit]}{unit}"


def _part(watched: "Watched") -> str:
    if watched.kind == "selector":
        return f"selector {watched.selector}"
    if watched.kind == "extractor":
        fields = f", fields {', '.join(watched.fields)}" if watched.fields else ""
        return f"extractor {watched.id}@{watched.version}{fields}"
    return "whole page" if watched.kind == "whole" else "main content"
