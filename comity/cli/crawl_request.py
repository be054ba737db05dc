"""From what was typed to the ledger's start request. Pure: nothing is started for a wrong one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from pydantic import ValidationError

from comity.cli.errors import BadInput
from comity.cli.stack.parts import ALLOWED_FORMATS
from comity.contract.capture import CaptureFormats
from comity.contract.extraction import ExtractorChoice
from comity.contract.ledger import CrawlCaptureSettings, Scope, StartCrawl
from ledger.rules.patterns import compiled
from ledger.rules.scope import frontier_url


@dataclass(frozen=True)
class CrawlWishes:
    """The options of `comity crawl`; None leaves the choice to the ledger."""

    urls: Sequence[str]
    max_depth: int | None = None
    max_pages: int | None = None
    delay_ms: int | None = None
    host_parallelism: int | None = None
    scope: str | None = None
    respect_robots: bool = True
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    sitemaps: bool = False
    scripts: Sequence[str] | None = None
    extractors: Sequence[ExtractorChoice] = ()
    formats: str | None = None


def start_request(wishes: CrawlWishes) -> StartCrawl:
    """The request. Raises BadInput with one line that names the URL or the option."""
    for url in wishes.urls:
        check_url(url)
    chosen = {
        "max_depth": wishes.max_depth,
        "max_pages": wishes.max_pages,
        "per_host_delay_ms": wishes.delay_ms,
        "host_parallelism": wishes.host_parallelism,
        "scope": _scope(wishes.scope),
        "include": _patterns("--include", wishes.include),
        "exclude": _patterns("--exclude", wishes.exclude),
        "scripts": None if wishes.scripts is None else list(wishes.scripts),
    }
    try:
        return StartCrawl.model_validate(
            {name: value for name, value in chosen.items() if value is not None}
            | {
                "seeds": list(wishes.urls),
                "respect_robots": wishes.respect_robots,
                "sitemaps": wishes.sitemaps,
                "extractors": list(wishes.extractors),
                "capture": CrawlCaptureSettings(formats=_formats(wishes.formats)),
            }
        )
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        option = _OPTIONS.get(str(problem["loc"][0]), str(problem["loc"][0]))
        raise BadInput(f"{option} {_short(str(problem['input']))}: {problem['msg']}") from None


_OPTIONS = {
    "seeds": "URL",
    "max_depth": "--max-depth",
    "max_pages": "--max-pages",
    "per_host_delay_ms": "--delay-ms",
    "host_parallelism": "--host-parallelism",
    "scripts": "--script",
    "extractors": "--extractor",
    "include": "--include",
    "exclude": "--exclude",
}
"""Which option a field of the request comes from; by wire name too, for what the ledger refuses."""

WIRE_OPTIONS = {
    "maxDepth": "--max-depth",
    "maxPages": "--max-pages",
    "perHostDelayMs": "--delay-ms",
    "hostParallelism": "--host-parallelism",
    "scope": "--scope",
    "scripts": "--script",
    "extractors": "--extractor",
    "include": "--include",
    "exclude": "--exclude",
    "capture": "--formats",
    "seeds": "URL",
}


def check_url(url: str) -> None:
    """Raises BadInput for what the ledger would refuse too, before anything is started for it."""
    try:
        frontier_url(url)
    except ValueError as error:
        raise BadInput(f"{_short(url)!r} is not a URL to crawl: it {_as_sentence(str(error))}") from None


def _short(url: str) -> str:
    return url if len(url) <= 200 else f"{url[:199]}…"


def _as_sentence(reason: str) -> str:
    return reason if reason.startswith(("must", "has", "is ", "carries")) else f"is refused ({reason})"


def _scope(scope: str | None) -> str | None:
    if scope is not None and scope not in get_args(Scope):
        raise BadInput(f"--scope {scope}: choose one of {', '.join(get_args(Scope))}")
    return scope


def _patterns(option: str, patterns: Sequence[str]) -> list[str]:
    for pattern in patterns:
        try:
            compiled(pattern)
        except ValueError as error:
            raise BadInput(f"{option} {_short(pattern)}: not an RE2 pattern: {error}") from None
    return list(patterns)


def _formats(text: str | None) -> CaptureFormats | None:
    if text is None:
        return None
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name not in ALLOWED_FORMATS:
            raise BadInput(f"--formats {text}: {name} is not one of {', '.join(ALLOWED_FORMATS)}")
    if not wanted:
        raise BadInput(f"--formats: name at least one of {', '.join(ALLOWED_FORMATS)}")
    return CaptureFormats.model_validate({name: name in wanted for name in CaptureFormats.model_fields})
