"""Asking hosts for their robots.txt: within limits of time and size, and never with an exception."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from comity.polite.client import DEFAULT_USER_AGENT, Fetched, FetchFailure, GetLimits, GuardedClient, Headers
from comity.polite.egress import Egress
from comity.polite.errors import NotAWebUrlError
from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.proxies import ProxyRules
from comity.polite.rules.robots import (
    LIMIT_BYTES,
    MAX_REDIRECTS,
    RobotsFetch,
    origin_of,
    outcome_of_status,
    within_limit,
)
from comity.polite.trust import TlsTrust

BUDGET = GetLimits()
ACCEPT = "text/plain, */*;q=0.5"
WIRE_LIMIT_BYTES = LIMIT_BYTES + 64 * 1024
"""Packed content that is larger than what it unpacks to serves no one; its reading ends here."""
DETAIL_CHARACTERS = 300


async def fetch_robots(
    origin: str,
    *,
    user_agent: str = DEFAULT_USER_AGENT,
    budget: GetLimits = BUDGET,
    trust: TlsTrust | None = None,
    proxies: ProxyRules | None = None,
    egress: Egress | None = None,
) -> RobotsFetch:
    """Ask `origin` (`scheme://host[:port]`) for its robots.txt.

    Whatever the host does is in the value. Only cancellation passes through, and a `user_agent` without the token
    `comity` raises `UserAgentError` before anything is sent. `budget` gives the times; sizes and redirects have
    limits of their own. `egress` decides which addresses may be visited, at every redirect; without it, those of the
    public web.
    """
    fetched = await fetch_all(
        (origin,), user_agent=user_agent, budget=budget, trust=trust, proxies=proxies, egress=egress, concurrency=1
    )
    return fetched[origin]


async def fetch_all(
    origins: Iterable[str],
    *,
    concurrency: int = 16,
    user_agent: str = DEFAULT_USER_AGENT,
    budget: GetLimits = BUDGET,
    trust: TlsTrust | None = None,
    proxies: ProxyRules | None = None,
    egress: Egress | None = None,
) -> dict[str, RobotsFetch]:
    """`fetch_robots` for many origins, so many at a time; one that appears twice is asked once.

    The answers are keyed by the origins as given. When cancelled, all of them are.
    """
    limits = replace(
        budget,
        max_raw_bytes=WIRE_LIMIT_BYTES,
        max_decoded_bytes=LIMIT_BYTES + 1,
        max_redirects=MAX_REDIRECTS,
        truncate=True,
    )
    client = GuardedClient(
        egress or Egress(EgressRules()),
        user_agent=user_agent,
        trust=trust,
        proxies=proxies,
        max_connections=max(1, concurrency),
    )
    async with client, asyncio.TaskGroup() as group:
        tasks = {
            origin: group.create_task(_fetch(client, origin, limits, _FoundOnly())) for origin in dict.fromkeys(origins)
        }
    return {origin: task.result() for origin, task in tasks.items()}


class _FoundOnly:
    """Keeps the body of an answer that has rules; an error page's is not even read."""

    def __init__(self) -> None:
        self.body = bytearray()

    def begin(self, status: int, headers: Headers) -> bool:  # noqa: ARG002 - a sink's shape
        return outcome_of_status(status) == "found"

    def feed(self, piece: bytes) -> bool:
        self.body += piece
        return True


async def _fetch(client: GuardedClient, origin: str, limits: GetLimits, sink: _FoundOnly) -> RobotsFetch:
    try:
        home = origin_of(origin)
    except NotAWebUrlError as error:
        return RobotsFetch(origin, "unreachable", detail=str(error))
    got = await client.get(f"{home}/robots.txt", headers={"Accept": ACCEPT}, limits=limits, sink=sink)
    if isinstance(got, FetchFailure):
        return _unreachable(home, got, got.status, got.message)
    outcome = outcome_of_status(got.status)
    if outcome == "unreachable":
        return _unreachable(home, got, got.status, f"{got.final_url}: HTTP {got.status}")
    body, truncated = within_limit(bytes(sink.body))
    if outcome == "found" and got.truncated and not truncated:
        detail = f"{got.final_url}: over {WIRE_LIMIT_BYTES} bytes of packed content that unpack to less"
        return _unreachable(home, got, got.status, detail)
    return RobotsFetch(
        home,
        outcome,
        body=body,
        truncated=truncated,
        http_status=got.status,
        redirects=len(got.redirects),
        final_url=got.final_url,
        detail=f"HTTP {got.status}" if outcome == "absent" else "",
    )


def _unreachable(origin: str, got: Fetched | FetchFailure, status: int | None, detail: str) -> RobotsFetch:
    return RobotsFetch(
        origin,
        "unreachable",
        http_status=status,
        redirects=len(got.redirects),
        final_url=got.final_url,
        detail=" ".join(detail.split())[:DETAIL_CHARACTERS],
    )
