"""The WACZ of one capture: what was recorded, how it was made, and what it lacks."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO

from comity.archive import cdxj, wacz
from comity.capture.browser import Identity
from comity.capture.tally import Tally
from comity.capture.tls_observed import Observation
from comity.capture.warc_records import Exchanges
from comity.contract.capture import Banners, Build, CaptureRequest, Completeness, Coverage, Settle, WaczStats

WARC_FORMAT = "WARC File Format 1.1"
CONFORMS_TO = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


@dataclass(frozen=True, slots=True)
class Told:
    """What the capture knows of its page when all is recorded."""

    task_id: str
    request: CaptureRequest
    applied: dict[str, Any]
    build: Build
    browser: Identity
    started_at: datetime
    page_at: datetime
    final_url: str
    title: str
    text: str
    settle: Settle | None
    banners: Banners | None
    coverage: Coverage | None
    http_status: int | None
    extra: tuple[wacz.Member, ...]
    tls: tuple[Observation, ...] = ()


def software(build: Build) -> str:
    """Who made the archive."""
    return f"comity {build.version} ({build.revision})"


def info_fields(build: Build, browser: Identity, task_id: str) -> list[tuple[str, str]]:
    """The `warcinfo` record's fields."""
    return [
        ("software", software(build)),
        ("format", WARC_FORMAT),
        ("conformsTo", CONFORMS_TO),
        ("http-header-user-agent", browser.user_agent),
        ("browser", browser.product),
        ("isPartOf", task_id),
    ]


def completeness(tally: Tally) -> Completeness:
    """What the archive lacks, by URL."""
    return Completeness(
        bodyless_urls=sorted(tally.bodyless),
        truncated_urls=sorted(tally.truncated),
        complete=not tally.bodyless and not tally.truncated,
    )


def stats(tally: Tally) -> WaczStats:
    """How much was recorded."""
    return WaczStats(total_recorded=tally.recorded, total_body_bytes=tally.body_bytes, total_blocked=tally.blocked)


def applied_settings(request: CaptureRequest, **resolved: object) -> dict[str, Any]:
    """The settings as they took effect: scripts by hash (their sources lie beside), no secrets, defaults resolved."""
    told = request.to_wire()
    for phase in ("behaviors", "preload"):
        for script in told.get(phase, []):
            script.pop("source", None)
    told.get("artifactSink", {}).pop("token", None)
    return told | resolved


def write(out: BinaryIO, exchanges: Exchanges, tally: Tally, told: Told, sign: wacz.Sign | None = None) -> None:
    """Finishes the WARC and packs it, signed by `sign`. Blocks; raises OSError, and what `sign` raises."""
    exchanges.add_metadata(datetime.now(UTC), told.final_url, _page_fields(told))
    for seen in told.tls:
        exchanges.add_metadata(seen.observed_at, f"{seen.origin}/", seen.fields())
    exchanges.close()
    page = wacz.Page(
        page_id=told.task_id, url=told.request.url, date=told.page_at, title=told.title or None, text=told.text or None
    )
    contents = wacz.Contents(
        warc=exchanges.path,
        index=cdxj.index(exchanges.entries),
        pages=(page,),
        software=software(told.build),
        created=told.started_at,
        title=told.title or told.request.url,
        extra=told.extra,
        facts={"comity": _facts(tally, told)},
    )
    wacz.pack(contents, out, sign)


def _page_fields(told: Told) -> list[tuple[str, str]]:
    named = [("title", told.title), ("finalUrl", told.final_url)]
    if told.settle is not None:
        named.append(("settle", told.settle.outcome))
    return [(name, value) for name, value in named if value]


def _facts(tally: Tally, told: Told) -> dict[str, Any]:
    whole = completeness(tally).to_wire()
    reasons = {
        "bodyless": tally.bodyless,
        "truncated": tally.truncated,
        "failed": tally.failed,
        "blocked": tally.denied,
    }
    return {
        "taskId": told.task_id,
        "correlationId": told.request.correlation_id,
        "url": told.request.url,
        "finalUrl": told.final_url,
        "httpStatusCode": told.http_status,
        "completeness": whole | {"reasons": reasons},
        "stats": stats(tally).to_wire(),
        "settle": told.settle.to_wire() if told.settle else None,
        "coverage": told.coverage.to_wire() if told.coverage else None,
        "tlsAsObserved": [seen.facts() for seen in told.tls],
        "banners": told.banners.to_wire() if told.banners else None,
        "settings": told.applied,
        "browser": {"product": told.browser.product, "userAgent": told.browser.user_agent},
        "build": told.build.to_wire(),
    }
