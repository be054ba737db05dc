"""One page to whichever capture server is free."""

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from blocks.clients.errors import (
    AnswerUnreadable,
    CaptureBusy,
    ConnectionLost,
    DeadlinePassed,
    HungUp,
    ServiceRefused,
    ServiceUnreachable,
)
from comity.contract.capture import ArtifactSink, CaptureAnswer, CaptureRequest
from comity.contract.ledger import Try
from flows.clock import run_clock
from flows.errors import ServerUnavailable, Stopped
from flows.host_lease import HeldLease
from flows.rules.endpoints import Unreachable, all_busy, all_unreachable, next_first, not_the_page, order
from flows.rules.facts import LevelFacts, capture_request
from flows.rules.pacing import busy_wait_ms
from flows.rules.plan import PageWork
from flows.rules.reasons import one_line
from flows.rules.retry import Failure, failure_of, outcome_of
from flows.stop import StopSignal, Stopwatch


class Endpoint(Protocol):
    """What a submission needs of a capture server's client."""

    url: str

    def capture(
        self, request: CaptureRequest, *, stop: threading.Event, deadline_ms: int, connect_timeout_ms: int
    ) -> CaptureAnswer:
        """See `blocks.clients.capture.CaptureClient.capture`."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What came of one submission that a server took. `answer` is None where it named no task."""

    outcome: str
    answer: CaptureAnswer | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A submission under way."""

    endpoint: str
    at: datetime
    promised_gap_ms: int
    lease_id: str
    waited_ms: int


@dataclass
class Submission:
    """Offers one page to the endpoints. `tries` records every submission, refusals and deadlines included."""

    facts: LevelFacts
    endpoints: Sequence[Endpoint]
    page: PageWork
    places: tuple[int, ...]
    stop: StopSignal
    sink: Callable[[], ArtifactSink | None]
    tries: list[Try] = field(default_factory=list)

    def submit(self, promised_gap_ms: int, lease: HeldLease) -> Submitted:
        """The first endpoint that takes the page decides. `promised_gap_ms` is the rest that the host had before it.

        Raises LeaseLost where the host became another's before any took it, ServerUnavailable where none can be reached
        or comes free within the budgets, Stopped where the level is to end, ValueError where the page cannot be asked
        for at all.
        """
        pacing = self.facts.pacing
        rounds_left = pacing.unreachable_rounds
        unreachable: dict[int, Unreachable] = {}
        waiting = Stopwatch()
        while True:
            busy = 0
            for place in self.places:
                if place in unreachable:
                    continue
                self.stop.check()
                lease.assure()
                try:
                    submitted = self._offer(self.endpoints[place], promised_gap_ms, lease)
                except CaptureBusy:
                    busy += 1
                except ServiceUnreachable as error:
                    unreachable[place] = Unreachable(error.url, error.happened)
                else:
                    # A second try begins elsewhere: what failed may have been the server's browser, not the page.
                    self.places = next_first(self.places, after=place)
                    return submitted
            if busy:
                if waiting.elapsed_ms >= pacing.busy_budget_ms:
                    raise ServerUnavailable(all_busy(pacing.busy_budget_ms, [one.url for one in self.endpoints]))
                self.stop.sleep(busy_wait_ms(pacing, random.random()))  # noqa: S311 -- spreads load, guards nothing
                continue
            if not rounds_left:
                raise ServerUnavailable(all_unreachable([unreachable[place] for place in self.places]))
            rounds_left -= 1
            self.stop.sleep(pacing.unreachable_wait_ms)
            unreachable.clear()
            waiting = Stopwatch()

    def _offer(self, endpoint: Endpoint, promised_gap_ms: int, lease: HeldLease) -> Submitted:
        """One submission. Raises CaptureBusy and ServiceUnreachable, after which the next endpoint may be asked.

        A server that does not know our token, or is none, is as good as unreachable: no page was visited, and none is
        to blame.
        """
        request = capture_request(self.facts, self.page, len(self.tries) + 1, self.sink())
        begun = _Begun(endpoint.url, run_clock(), promised_gap_ms, lease.lease_id, lease.waited_ms)
        lease.visited = True
        try:
            answer = endpoint.capture(
                request,
                stop=self.stop.hang_up,
                deadline_ms=self.facts.pacing.capture_deadline_ms,
                connect_timeout_ms=self.facts.pacing.connect_timeout_ms,
            )
        except HungUp as error:
            raise Stopped(self.stop.reason) from error
        except CaptureBusy:
            lease.visited = False
            self._record(begun, "busy")
            raise
        except ServiceUnreachable:
            lease.visited = False
            raise
        except ConnectionLost as error:
            return self._without_answer(begun, error.happened, "lost")
        except DeadlinePassed as error:  # the page is not sent elsewhere: the first server may still be at it
            return self._without_answer(begun, error.happened)
        except ServiceRefused as error:
            if not_the_page(error.status):
                lease.visited = False
                raise ServiceUnreachable(error.part, error.url, f"{error.status}: {error.message}") from error
            kind = f" {error.kind}" if error.kind else ""
            return self._without_answer(begun, f"{error.status}{kind}: {error.message}")
        except AnswerUnreadable as error:
            return self._without_answer(begun, error.happened)
        outcome = outcome_of(answer.report)
        self._record(begun, outcome, answer.task_id)
        return Submitted(outcome=outcome, answer=answer, failure=failure_of(answer.report))

    def _without_answer(self, begun: _Begun, outcome: str, failure: Failure | None = None) -> Submitted:
        self._record(begun, outcome)
        return Submitted(outcome=outcome, failure=failure)

    def _record(self, begun: _Begun, outcome: str, task_id: str | None = None) -> None:
        self.tries.append(
            Try(
                try_=len(self.tries) + 1,
                endpoint=begun.endpoint,
                task_id=task_id,
                submitted_at=begun.at,
                finished_at=run_clock(),
                outcome=one_line(outcome),
                promised_gap_ms=begun.promised_gap_ms,
                lease_id=begun.lease_id,
                waited_ms=begun.waited_ms,
            )
        )


def submission(
    facts: LevelFacts,
    endpoints: Sequence[Endpoint],
    page: PageWork,
    *,
    host_place: int,
    page_number: int,
    stop: StopSignal,
    sink: Callable[[], ArtifactSink | None],
) -> Submission:
    """A submission that begins one endpoint further with every page and every host."""
    places = order(len(endpoints), host_place=host_place, page_number=page_number)
    return Submission(facts, endpoints, page, places, stop, sink)
