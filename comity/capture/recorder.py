"""Listens to the network events of a page and all its children, and has every exchange written into the WARC.

What has ended is recorded at once, so that memory holds a few bodies, never all (`records`). Chromium does not enforce
its own limits: bytes are counted as they arrive, and a body over the limit is never asked for.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from comity.archive.warc import Payload
from comity.capture.bodies import RENDERER_KEEPS_BYTES, STREAMED_FROM_BYTES, BodyStream
from comity.capture.cdp import Params, Session
from comity.capture.egress.book import Book, Refused, Unreached
from comity.capture.errors import CaptureFault
from comity.capture.exchange import Chain, Hop, hop_of
from comity.capture.policies import Policies
from comity.capture.records import DENIED, STILL_LOADING, TOO_LATE, Records
from comity.capture.tally import Limits, Tally
from comity.capture.tls_observed import TlsObserver
from comity.capture.warc_records import Exchanges

MAX_HEAD_BYTES = 256 * 1024
"""What the browser takes of response headers; they count in a loading's total."""


class Recorder:
    """Feed `on_network` and `on_paused`; `drain` at the end. `tally` says what came of it."""

    def __init__(self, exchanges: Exchanges | None, *, policies: Policies, limits: Limits, egress: Book) -> None:
        self._policies = policies
        self._limits = limits
        self._egress = egress
        self._chains: dict[str, Chain] = {}
        self._orphan_exact: dict[str, list[tuple[bool, Session, Params]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._openings: set[asyncio.Task[None]] = set()
        """Streams that are being asked for. Whoever wants such a body waits for its stream."""
        self._task_bytes = 0
        self._full = False
        self._over = False
        self.tally = Tally()
        self._records: Records | None = None
        """None: no archive was asked for."""
        if exchanges is not None:
            self._records = Records(
                exchanges,
                tally=self.tally,
                policies=policies,
                limits=limits,
                egress=egress,
                on_broken=self._fail_writing,
            )
        self.tls = TlsObserver()
        self.fault: CaptureFault | None = None
        self.on_fault: Callable[[CaptureFault], None] = lambda _: None
        self.on_denied_socket: Callable[[str], None] = lambda _: None
        """Called before anything else comes of it."""
        self.on_full: Callable[[], None] = lambda: None
        """Called once, when the page has taken more than `task_bytes`: nothing more may come in."""
        self.main_frame: str | None = None
        self.main: Chain | None = None
        self.main_broke = asyncio.Event()
        """Set while the main document is one whose bytes broke off: the browser then tells no load event."""

    @property
    def open_requests(self) -> int:
        """Requests that the page still waits for, long-lived streams aside."""
        return sum(chain.counts for chain in self._chains.values())

    @property
    def browser_silent(self) -> bool:
        """Whether the browser did not answer for a body: its network service died, and lasts dead for bodies."""
        return self._records is not None and self._records.bodies.browser_silent

    @property
    def full(self) -> bool:
        """Whether the page took more bytes than one capture may."""
        return self._full

    def no_way_to(self, url: str) -> Refused | Unreached | None:
        """Why no connection was made to this URL's host, as far as the egress guard knows."""
        return self._egress.failure_of(url)

    # Events

    def on_network(self, session: Session, method: str, params: Params) -> None:
        """One `Network.*` event, in the order of arrival."""
        handler = self._HANDLERS.get(method)
        if handler is not None and (not self._over or handler is Recorder._socket):
            handler(self, session, params)

    def _request(self, session: Session, params: Params) -> None:
        request_id = params["requestId"]
        if not params["request"]["url"].startswith(("http:", "https:")):
            return
        chain = self._chains.get(request_id)
        if chain is None:
            chain = Chain(request_id, owner=session, sessions=[session])
            self._chains[request_id] = chain
            chain.over_limit = self.open_requests >= self._limits.pending_requests
            for is_request, teller, exact in self._orphan_exact.pop(request_id, []):
                self._keep_exact(chain, is_request, teller, exact)
            if self._limits.response_bytes > RENDERER_KEEPS_BYTES and params.get("type") == "Fetch":
                # Taken as text it may keep the page's thread busy until all of it is there (200 MB: 4 s). A stream that
                # is asked for meanwhile begins after that, and lacks what the renderer did not keep.
                self._open_stream(chain, session)
        elif session is not chain.owner:
            if session not in chain.sessions:
                chain.sessions.append(session)
            return
        elif "redirectResponse" in params:
            self.tls.note(params["redirectResponse"])
            self._settle(chain, params["redirectResponse"], has_exact=bool(params.get("redirectHasExtraInfo")))
        chain.hops.append(hop_of(params))
        if params.get("type") == "Document" and params.get("frameId") == self.main_frame:
            self.main = chain
            self.main_broke.clear()

    def _request_exact(self, session: Session, params: Params) -> None:
        self._exact(True, session, params)

    def _response_exact(self, session: Session, params: Params) -> None:
        self._exact(False, session, params)

    def _exact(self, is_request: bool, session: Session, params: Params) -> None:
        chain = self._chains.get(params["requestId"])
        if chain is None:
            self._orphan_exact.setdefault(params["requestId"], []).append((is_request, session, params))
        else:
            self._keep_exact(chain, is_request, session, params)

    @staticmethod
    def _keep_exact(chain: Chain, is_request: bool, session: Session, params: Params) -> None:
        table = chain.exact_requests if is_request else chain.exact_responses
        table.setdefault(session.session_id, []).append(params)
        chain.told.set()

    def _response(self, _: Session, params: Params) -> None:
        chain = self._chains.get(params["requestId"])
        if chain is None or not chain.hops:
            return
        response = params["response"]
        self.tls.note(response)
        chain.last.kind = params.get("type", chain.last.kind)
        self._settle(chain, response, has_exact=bool(params.get("hasExtraInfo")))
        if response.get("fromDiskCache") or response.get("fromServiceWorker") or response.get("fromPrefetchCache"):
            chain.from_cache = True

    def _settle(self, chain: Chain, response: Params, *, has_exact: bool) -> None:
        if response.get("remoteIPAddress"):
            # The browser names the proxy, which knows where the connection really went.
            response["remoteIPAddress"] = self._egress.address_of(chain.last.url)
        chain.settle_hop(response, has_exact=has_exact)

    def _from_cache(self, _: Session, params: Params) -> None:
        chain = self._chains.get(params["requestId"])
        if chain is not None:
            chain.from_cache = True

    def _data(self, session: Session, params: Params) -> None:
        chain = self._chains.get(params["requestId"])
        if chain is None or chain.ended:
            return
        if chain.counted_by is None:
            chain.counted_by = session.session_id
        if chain.counted_by != session.session_id:
            return
        size = int(params.get("dataLength", 0))
        chain.received_bytes += size
        self._task_bytes += size
        if chain.received_bytes > self._limits.response_bytes:
            chain.over_limit = True
        if self._task_bytes > self._limits.task_bytes:
            chain.over_limit = True
            if not self._full:
                self._full = True
                self.on_full()
                if self.main is not None and not self.main.ended:
                    self.main_broke.set()
        try:
            self._stream(chain, session, params)
        except OSError as error:
            self._fail_writing(error)

    def _stream(self, chain: Chain, session: Session, params: Params) -> None:
        """A body that grows is taken while it comes, if it can be."""
        if chain.over_limit and chain.stream is not None:
            chain.stream.drop()
        elif chain.stream is not None:
            chain.stream.take(params)
        elif chain.received_bytes > STREAMED_FROM_BYTES:
            self._open_stream(chain, session)

    def _open_stream(self, chain: Chain, session: Session) -> None:
        """Where it would be exact, and is wanted."""
        if session.keeper is None or self._records is None or chain.over_limit or chain.from_cache:
            return
        chain.stream = BodyStream()
        task = asyncio.create_task(self._begin_stream(chain.stream, session, chain.request_id))
        self._openings.add(task)
        task.add_done_callback(self._openings.discard)

    async def _begin_stream(self, stream: BodyStream, session: Session, request_id: str) -> None:
        try:
            await stream.begin(session, request_id)
        except OSError as error:
            self._fail_writing(error)

    def _finished(self, session: Session, params: Params) -> None:
        chain = self._chains.get(params["requestId"])
        if chain is not None:
            chain.sent_bytes = int(params.get("encodedDataLength", 0))
            if chain.sent_bytes - MAX_HEAD_BYTES > self._limits.response_bytes:
                chain.over_limit = True  # what a page takes as a blob is not told piece by piece
        self._end(params["requestId"], session, None)

    def _failed(self, session: Session, params: Params) -> None:
        self._end(params["requestId"], session, params)

    def _socket(self, _: Session, params: Params) -> None:
        if self._policies.denies(params["url"]):
            self.on_denied_socket(params["url"])
            if self._over:
                return
            self.tally.note_blocked(params["url"], DENIED)
            self._fail(CaptureFault("policy", f"the page opened a denied WebSocket: {params['url'][:500]}"))

    _HANDLERS = {
        "Network.requestWillBeSent": _request,
        "Network.requestWillBeSentExtraInfo": _request_exact,
        "Network.responseReceived": _response,
        "Network.responseReceivedExtraInfo": _response_exact,
        "Network.requestServedFromCache": _from_cache,
        "Network.dataReceived": _data,
        "Network.loadingFinished": _finished,
        "Network.loadingFailed": _failed,
        "Network.webSocketCreated": _socket,
    }

    def give_body(self, request_id: str, body: Payload | None) -> None:
        """A download's body, taken before the browser could drop it; None: over the limit."""
        chain = self._chains.get(request_id)
        if chain is not None:
            chain.given_body = body
            chain.over_limit = body is None

    def add_download(self, session: Session, hop: Hop, body: Payload | None) -> None:
        """A download that the browser began by itself (`a[download]`): no network event tells of it. None: too long."""
        if self._records is None or self._over:
            return
        self._task_bytes += 0 if body is None else len(body)
        chain = Chain(f"download-{hop.url}", owner=session, sessions=[session], hops=[hop], ended=True)
        self._spawn(self._records.record_download(chain, body))

    # Recording

    def _end(self, request_id: str, session: Session, failure: Params | None) -> None:
        chain = self._chains.get(request_id)
        if chain is None or chain.ended or not chain.hops:
            return
        chain.ended = True
        chain.error = str((failure or {}).get("errorText") or "")
        if failure is not None and chain is self.main and chain.last.response and not failure.get("canceled"):
            self.main_broke.set()
        if chain.from_cache or self._records is None:
            chain.release()
            return
        self._spawn(self._records.record(chain, session, failure))

    def _fail(self, fault: CaptureFault) -> None:
        self.fault = self.fault or fault
        self.on_fault(self.fault)

    def _fail_writing(self, error: OSError) -> None:
        self._fail(CaptureFault("internal", f"the archive cannot be written: {error}", step="wacz"))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def give_way(self) -> None:
        """The page begins to load: what has ended is written once it has loaded (`catch_up`), or a moment later.

        Browser and page need the processors then; the browser keeps the bodies meanwhile.
        """
        if self._records is not None:
            self._records.turn.give_way()

    def catch_up(self) -> None:
        """The page has loaded, or will not."""
        if self._records is not None:
            self._records.turn.catch_up()

    def end(self) -> None:
        """What the page still fetches is not heard of any more: the archive is being packed, or there will be none."""
        self._over = True
        for task in self._openings | (self._tasks - (self._records.writing if self._records else set())):
            task.cancel()

    async def drain(self, budget_s: float) -> None:
        """Waits until what has ended is written, then writes what has not. Raises CaptureFault for a full disk.

        A record that is being written is never left half: it is waited for beyond the budget.
        """
        self.catch_up()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=budget_s)
        for task in self._tasks - (self._records.writing if self._records else set()):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        for chain in list(self._chains.values()):
            if self._records is not None and chain.hops and not chain.last.written and not chain.from_cache:
                why = TOO_LATE if chain.ended else STILL_LOADING
                chain.ended = True
                await self._records.record_open(chain, why)
        if self.fault is not None:
            raise self.fault
