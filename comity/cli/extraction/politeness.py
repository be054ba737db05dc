"""Many pages, politely: one at a time of each host, with a rest in between, and what a robots.txt says holds.

A page that is not asked for has a failure of the code E_POLITENESS that says why.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from comity.cli.allowance import certificates_and_proxies
from comity.cli.extraction.inputs import Job
from comity.extract import USER_AGENT, ExtractOptions, Failure, Program, Result
from comity.extract.run.visits import egress_of
from comity.polite.answers import BodySink, Fetched, FetchFailure, GetLimits, RedirectHook, Session
from comity.polite.client import GuardedClient
from comity.polite.egress import Egress
from comity.polite.robots import fetch_robots
from comity.polite.rules.proxies import ProxyRules
from comity.polite.rules.retry_after import retry_after_ms
from comity.polite.rules.robots import RobotsFetch, RobotsRuling, authority_of, judge, origin_of
from comity.polite.trust import TlsTrust

MAX_DELAY_MS = 600_000
"""A host that wants more rest than this is left alone: it is never hurried."""
MAX_LOST_IN_A_ROW = 5
"""Connections that failed one after the other; then the rest of the host is left alone."""
_LOST = ("E_HTTP_FETCH", "E_TIMEOUT", "E_BROWSER_NAVIGATE")
_ASKS_FOR_REST = (429, 503)


@dataclass(frozen=True, slots=True)
class Manners:
    """How hosts are treated: the gap from the end of a page to the next request, and how many hosts at once."""

    delay_ms: int = 2000
    hosts_at_once: int = 4
    respects_robots: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    job: Job
    found: Result | Failure


class RestingClient(GuardedClient):
    """A guarded client that remembers which hosts asked to be left alone, and for how long."""

    def __init__(self, egress: Egress, *, trust: TlsTrust, proxies: ProxyRules) -> None:
        super().__init__(egress, user_agent=USER_AGENT, trust=trust, proxies=proxies)
        self.rest_ms: dict[str, int] = {}

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        session: Session | None = None,
        limits: GetLimits = GetLimits(),  # noqa: B008 - frozen
        on_redirect: RedirectHook | None = None,
        sink: BodySink | None = None,
    ) -> Fetched | FetchFailure:
        """See `GuardedClient.get`."""
        answer = await super().get(
            url, headers=headers, session=session, limits=limits, on_redirect=on_redirect, sink=sink
        )
        if isinstance(answer, Fetched) and answer.status in _ASKS_FOR_REST:
            asked = retry_after_ms(answer.headers.get("retry-after"), datetime.now(UTC))
            self.rest_ms[authority_of(answer.final_url)] = asked or 0
        return answer


@dataclass(slots=True)
class _Lane:
    """One host: its pages in their order, and what is known of it."""

    host: str
    jobs: list[Job]
    rulings: dict[str, RobotsFetch] = field(default_factory=dict)
    free_at_s: float = 0.0
    lost_in_a_row: int = 0
    closed: str = ""
    """Why the rest of the host is left alone."""


class PoliteRun:
    """One program over many pages. `tell` is called once for each job, as soon as it is done.

    Raises BadInput where the environment's certificates or proxies cannot be used.
    """

    def __init__(
        self, program: Program, options: ExtractOptions, manners: Manners, tell: Callable[[Outcome], None]
    ) -> None:
        self._program = program
        self._options = options
        self._manners = manners
        self._tell = tell
        self._trust, self._proxies = certificates_and_proxies()

    async def over(self, jobs: Sequence[Job]) -> None:
        """Returns when every job has been told of. When cancelled, what is under way is hung up."""
        lanes: dict[str, _Lane] = {}
        for job in jobs:
            host = authority_of(job.url)
            lanes.setdefault(host, _Lane(host, [])).jobs.append(job)
        egress = Egress(egress_of(allow_private_hosts=self._options.allow_private_hosts))
        gate = asyncio.Semaphore(self._manners.hosts_at_once)
        async with (
            RestingClient(egress, trust=self._trust, proxies=self._proxies) as client,
            asyncio.TaskGroup() as group,
        ):

            async def take(lane: _Lane) -> None:
                async with gate:
                    await self._drive(lane, client, egress)

            for lane in lanes.values():
                group.create_task(take(lane))

    async def _drive(self, lane: _Lane, client: RestingClient, egress: Egress) -> None:
        for job in lane.jobs:
            self._tell(Outcome(job, await self._one(lane, job, client, egress)))

    async def _one(self, lane: _Lane, job: Job, client: RestingClient, egress: Egress) -> Result | Failure:
        ruling = await self._ruling(lane, job, egress)
        delay_ms = max(self._manners.delay_ms, (ruling.crawl_delay_ms or 0) if ruling else 0)
        if ruling is not None and not ruling.verdicts[0].allowed:
            verdict = ruling.verdicts[0]
            return _left_alone(f"{verdict.reason}: {verdict.detail}")
        if delay_ms > MAX_DELAY_MS:
            lane.closed = f"its robots.txt asks for {delay_ms} ms between pages, over {MAX_DELAY_MS}"
        if lane.closed:
            return _left_alone(lane.closed)
        await asyncio.sleep(max(0.0, lane.free_at_s - time.monotonic()))
        options = replace(self._options, client=client, url=job.url)
        found = await self._program.extract_async(job.inputs, options)
        self._settle(lane, found, delay_ms, client.rest_ms.pop(lane.host, 0))
        return found

    def _settle(self, lane: _Lane, found: Result | Failure, delay_ms: int, rest_ms: int) -> None:
        """What this page means for the next one of its host."""
        lane.free_at_s = time.monotonic() + max(delay_ms, rest_ms) / 1000
        if rest_ms > MAX_DELAY_MS:
            lane.closed = f"it asked to be left alone for {rest_ms} ms, over {MAX_DELAY_MS}"
        lost = isinstance(found, Failure) and found.code in _LOST
        lane.lost_in_a_row = lane.lost_in_a_row + 1 if lost else 0
        if lane.lost_in_a_row >= MAX_LOST_IN_A_ROW:
            lane.closed = f"{MAX_LOST_IN_A_ROW} pages in a row could not be got from {lane.host}"

    async def _ruling(self, lane: _Lane, job: Job, egress: Egress) -> RobotsRuling | None:
        """What the origin's robots.txt says of the page; asked once for each origin."""
        if not self._manners.respects_robots or lane.closed:
            return None
        origin = origin_of(job.url)
        if origin not in lane.rulings:
            lane.rulings[origin] = await fetch_robots(
                origin, user_agent=USER_AGENT, egress=egress, trust=self._trust, proxies=self._proxies
            )
        return judge(lane.rulings[origin], (job.url,))


def _left_alone(why: str) -> Failure:
    return Failure("E_POLITENESS", f"not asked for: {why}", "source.fetch")
