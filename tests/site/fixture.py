"""`FixtureSite`: the fixture web as a test holds it."""

import asyncio
import concurrent.futures
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self, TextIO

from tests.site import robots, visits
from tests.site.log import LogEntry, RequestLog
from tests.site.server import LOOPBACK_NETWORK, Server, address_of, bind_all
from tests.site.tree.routes import picture, place_of, tree_routes
from tests.site.visits import Visit
from tests.site.wire import Handler, Request, Response, text
from tests.site.zoo.routes import Zoo

Fault = Literal["drop", "silent", "stall", "cut"]
FAULTS: dict[str, Response] = {
    "drop": Response(drop=True),
    "silent": Response(silent=True),
    "stall": Response(body=b"<!doctype html><title>never done</title>", length=10_000, stall_after_bytes=20),
    "cut": Response(body=b"<!doctype html><title>cut short</title>", length=10_000, cut_after_bytes=20),
}
STOP_S = 10.0
ROBOTS_HOST = 1
"""The host whose robots.txt forbids a linked page and asks for a crawl-delay."""
CRAWL_DELAY_S = 3.0


@dataclass(slots=True)
class Override:
    answer: Handler | Response
    left: int | None
    """How many more times it answers; None: for ever."""


class FixtureSite:
    """Many small sites on loopback addresses, one port, in a thread of its own.

    `with FixtureSite(hosts=6) as site:` serves until the block ends; `stop()` and `start()` take it away and bring it
    back on the same port, its log and script kept. Hosts are numbered from 0; host N listens on 127.0.0.(N+2).
    `crawl_delay` gives seconds by host for robots.txt; without it host 1 asks for 3 s. `network` is the first three
    numbers of other addresses to listen on, which this machine must have.
    """

    def __init__(
        self,
        hosts: int = 6,
        *,
        port: int = 0,
        crawl_delay: Mapping[int, float] | None = None,
        log_to: TextIO | None = None,
        network: str = LOOPBACK_NETWORK,
    ) -> None:
        self._network = network
        self._sockets = bind_all(hosts, port, network)
        self.port: int = self._sockets[0].getsockname()[1]
        self.hosts = tuple(f"{address_of(index, network)}:{self.port}" for index in range(hosts))
        self._log = RequestLog(log_to)
        delays = {ROBOTS_HOST: CRAWL_DELAY_S} if crawl_delay is None else crawl_delay
        bases = tuple(f"http://{host}" for host in self.hosts)
        self._routes = [tree_routes(index, bases) for index in range(hosts)]
        for index, routes in enumerate(self._routes):
            routes["/robots.txt"] = self._tree_robots(index, delays.get(index))
        self._zoo = Zoo(bases)
        self._overrides: dict[tuple[int | None, str], list[Override]] = {}
        self._below: dict[str, Handler] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()

    # --- life -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Serve (again). Connections are accepted once this returns."""
        if self._thread is not None:
            return
        sockets = self._sockets or bind_all(len(self.hosts), self.port, self._network)
        self._sockets = []
        ready: threading.Event = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(sockets, ready), name="fixture-site", daemon=True)
        self._thread.start()
        if not ready.wait(STOP_S):
            raise RuntimeError("the fixture web did not start")

    def stop(self) -> None:
        """Hang up on everybody; from then on connections are refused."""
        for sock in self._sockets:
            sock.close()
        self._sockets = []
        if self._thread is not None:
            loop, self._loop = self._loop, None
            if loop is not None:
                loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(STOP_S)
            if self._thread.is_alive():
                raise RuntimeError("the fixture web did not stop")
            self._thread = None

    @contextlib.contextmanager
    def gone(self) -> Iterator[None]:
        """Stopped inside the block: what still works there works without the site."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, sockets: list[socket.socket], ready: threading.Event) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self._ended = asyncio.Event()
            server = Server(self._find, self._log)
            await server.start(sockets)
            ready.set()
            await self._ended.wait()
            await server.stop()

        asyncio.run(serve())

    # --- addresses --------------------------------------------------------------------------------------------

    @property
    def seeds(self) -> tuple[str, ...]:
        """One URL per host: the first page of its tree."""
        return tuple(f"http://{host}/" for host in self.hosts)

    def origin(self, host: int) -> str:
        return f"http://{self.hosts[host]}"

    def url(self, host: int, path: str = "/") -> str:
        return f"{self.origin(host)}{path}"

    def pages(self, host: int) -> tuple[str, ...]:
        """URLs of every page of that host's tree, the forbidden one included, the seed first."""
        return tuple(self.url(host, page.path) for page in place_of(host).pages)

    def forbidden(self) -> str:
        """The linked URL that robots.txt forbids (needs two hosts)."""
        return self.url(ROBOTS_HOST, place_of(ROBOTS_HOST).forbidden)

    # --- script -----------------------------------------------------------------------------------------------

    def set(self, path: str, answer: Handler | Response, *, host: int | None = None, times: int | None = None) -> None:
        """Answer `path` (without query) with this from now on: on one host or on all, for ever or so many times.

        The latest setting goes first; when its times are used up, what it covered shows again.
        """
        with self._lock:
            self._overrides.setdefault((host, path), []).append(Override(answer, times))

    def set_below(self, prefix: str, answer: Handler) -> None:
        """Answer every path that begins so, on all hosts, where nothing else is set."""
        with self._lock:
            self._below[prefix] = answer

    def fail(self, path: str, how: Fault | int, *, host: int | None = None, times: int | None = None) -> None:
        """Make `path` fail: `drop` (reset), `silent` (no answer), `stall` or `cut` (in mid-body), or a status code."""
        answer = text(f"status {how}\n", status=how) if isinstance(how, int) else FAULTS[how]
        self.set(path, answer, host=host, times=times)

    def restore(self) -> None:
        """Forget everything that `set` and `fail` arranged, and whom the zoo has refused."""
        with self._lock:
            self._overrides.clear()
            self._below.clear()
        self._zoo.forget()

    def _find(self, request: Request) -> Handler | Response:
        with self._lock:
            for key in ((request.host_index, request.path), (None, request.path)):
                stack = self._overrides.get(key, [])
                while stack:
                    top = stack[-1]
                    if top.left is None:
                        return top.answer
                    if top.left > 0:
                        top.left -= 1
                        return top.answer
                    stack.pop()
            below = next((answer for prefix, answer in self._below.items() if request.path.startswith(prefix)), None)
        found = below or self._routes[request.host_index].get(request.path)
        if found is not None:
            return found
        if request.path.startswith("/pictures/"):
            return picture
        if request.path.startswith("/robots-hop/"):
            return robots.hop
        return self._zoo.find(request)

    def _tree_robots(self, host: int, delay: float | None) -> Response:
        path = place_of(host).forbidden
        if host == ROBOTS_HOST and path:
            return robots.forbid(path, crawl_delay=delay)
        return robots.allow_all() if delay is None else robots.forbid("", crawl_delay=delay)

    # --- what the site saw ------------------------------------------------------------------------------------

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """Every request so far in the order in which they began, those under way included.

        A client may hold a whole answer an instant before the server has written down that it is over; so the server
        is first given the turn it needs to say so.
        """
        self._settle()
        return self._log.entries()

    def _settle(self) -> None:
        loop = self._loop
        if loop is None or threading.current_thread() is self._thread:
            return

        async def turns() -> None:
            for _ in range(3):
                await asyncio.sleep(0)

        with contextlib.suppress(RuntimeError, TimeoutError, concurrent.futures.CancelledError):
            asyncio.run_coroutine_threadsafe(turns(), loop).result(STOP_S)

    def clear_log(self) -> None:
        self._log.clear()

    def wait_until(self, holds: Callable[[tuple[LogEntry, ...]], bool], within_s: float = 60.0) -> bool:
        """True as soon as `holds(log)`; False once the time has passed without."""
        return self._log.wait_until(holds, within_s)

    def requests(self, host: int | None = None, *, kind: str | None = None) -> tuple[LogEntry, ...]:
        return tuple(
            entry
            for entry in self.log
            if (host is None or entry.host_index == host) and (kind is None or entry.kind == kind)
        )

    def page_requests(self, host: int | None = None) -> tuple[LogEntry, ...]:
        """Page documents only: no sub-resources, frames or robots.txt."""
        return self.requests(host, kind="page")

    def asked_for(self, path: str, host: int | None = None) -> tuple[LogEntry, ...]:
        """Requests for a path: with a `?` the query must match too, without one any query does. Empty is false."""
        return tuple(e for e in self.requests(host) if path == (e.path if "?" in path else e.bare_path))

    def visits(self, host: int | None = None) -> tuple[Visit, ...]:
        found = visits.visits_of(self.log)
        return found if host is None else tuple(visit for visit in found if visit.host == self.hosts[host])

    def overlapping_visits(self) -> tuple[tuple[Visit, Visit], ...]:
        """Pairs of visits to one host at once."""
        return visits.overlapping(self.visits())

    def smallest_gap_s(self, host: int) -> float | None:
        """Shortest time from the end of one visit's last request to the next page request there; None below two."""
        return min(visits.gaps_s(self.visits(), self.hosts[host]), default=None)

    def max_concurrent_visits(self) -> int:
        """The most page loads under way at once, over all hosts."""
        return visits.most_at_once((visit.started_s, visit.finished_s) for visit in self.visits())

    def max_concurrent(self, host: int | None = None, *, kind: str | None = None) -> int:
        """The most single requests under way at once, of one kind or all."""
        return visits.busiest(self.requests(host, kind=kind), lambda entry: True)
