"""Resolve what a start asked for into the policy that holds for all levels of the crawl."""

from typing import Any

from comity.contract.capture import CaptureFormats
from comity.contract.ledger import CrawlCaptureSettings, CrawlPolicy, ErrorField, StartCrawl
from ledger.errors import BadInput
from ledger.rules import budget
from ledger.rules.patterns import compiled
from ledger.services.terms import Terms


def resolve(order: StartCrawl, terms: Terms, *, targets: int | None, organization: str) -> CrawlPolicy:
    """The policy, complete. `targets` is how many URLs a target list gave, `organization` whose crawl it is.

    Raises BadInput.
    """
    _check_patterns(order)
    return CrawlPolicy(
        scope=order.scope,
        max_depth=budget.max_depth(order.max_depth, from_targets=targets is not None),
        max_pages=budget.max_pages(order.max_pages, targets),
        per_host_delay_ms=order.per_host_delay_ms,
        host_parallelism=order.host_parallelism,
        respect_robots=order.respect_robots,
        include=order.include,
        exclude=order.exclude,
        sitemaps=order.sitemaps,
        max_bytes=_max_bytes(order.max_bytes, terms.max_crawl_bytes),
        capture=_capture(order.capture, terms, organization),
    )


def _check_patterns(order: StartCrawl) -> None:
    problems: list[ErrorField] = []
    for field, patterns in (("include", order.include), ("exclude", order.exclude)):
        for place, pattern in enumerate(patterns):
            try:
                compiled(pattern)
            except ValueError as error:
                problems.append(ErrorField(field=f"{field}.{place}", message=str(error)))
    if problems:
        raise BadInput(problems)


def _max_bytes(asked: int | None, limit: int | None) -> int | None:
    if asked is not None and limit is not None and asked > limit:
        raise BadInput.at("maxBytes", f"a crawl of this deployment keeps at most {limit} bytes")
    return limit if asked is None else asked


def _capture(asked: CrawlCaptureSettings, terms: Terms, organization: str) -> dict[str, Any]:
    """Page settings as they were given, formats and signing resolved against the deployment's."""
    problems: list[ErrorField] = []
    formats = {name: name in terms.formats for name in CaptureFormats.model_fields}
    if asked.formats is not None:
        formats = asked.formats.model_dump()
        problems += [
            ErrorField(
                field=f"capture.formats.{name}",
                message=f"{name} is not made here; LEDGER_ALLOWED_FORMATS has {', '.join(terms.allowed_formats)}",
            )
            for name, wanted in formats.items()
            if wanted and name not in terms.allowed_formats
        ]
    if asked.signing and not terms.signing:
        problems.append(ErrorField(field="capture.signing", message="this deployment cannot sign; leave it out"))
    elif asked.signing and not formats["wacz"]:
        problems.append(ErrorField(field="capture.signing", message="signatures live in WACZ; choose the format wacz"))
    problems += _session(asked, terms, organization)
    if asked.storage_values and not formats["wacz"]:
        message = "the values are kept in the archive alone; choose the format wacz"
        problems.append(ErrorField(field="capture.storageValues", message=message))
    if problems:
        raise BadInput(problems)
    signing = (terms.signing if asked.signing is None else asked.signing) and formats["wacz"]
    settings = asked.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"formats", "signing"})
    return {**settings, "formats": formats, "signing": signing}


def _session(asked: CrawlCaptureSettings, terms: Terms, organization: str) -> list[ErrorField]:
    """A shared session never crosses organisations: a capture server has one, and does not know whose a page is."""
    if asked.session != "shared" or organization == terms.shared_session_organization:
        return []
    allowed = "LEDGER_SHARED_SESSION_ORGANIZATION names the one organisation whose crawls may share cookies"
    return [ErrorField(field="capture.session", message=f"no session is shared for {organization}: {allowed}")]


def goes_on(policy: CrawlPolicy, depth: int) -> bool:
    """True where a level after this one is possible, so that this one's links are wanted."""
    return depth < policy.max_depth
