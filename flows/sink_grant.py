"""The level's artifact sink, with a token that is renewed before it ends."""

import threading

from blocks.clients.errors import ServiceError
from blocks.clients.ledger import LedgerClient
from comity.contract.capture import ArtifactSink
from flows.delivery import Log
from flows.rules.facts import LevelFacts
from flows.rules.pacing import sink_is_due
from flows.stop import Stopwatch


class SinkGrant:
    """Where captures hand their artifacts. Shared by the hosts of a level; thread-safe.

    The token's time is counted here, from the arrival of the work order, so that no other clock matters. None as `age`
    is a process that does not know when the order arrived: it fetches its own.
    """

    def __init__(self, facts: LevelFacts, ledger: LedgerClient, log: Log, age: Stopwatch | None) -> None:
        self._facts = facts
        self._ledger = ledger
        self._log = log
        self._age = age
        self._sink = facts.artifact_sink
        self._lock = threading.Lock()

    def current(self) -> ArtifactSink | None:
        """The sink for the next capture; None where servers keep artifacts themselves.

        A ledger that does not answer is asked again at the next page: the old token is good for some minutes more.
        """
        if self._sink is None:
            return None
        with self._lock:
            if sink_is_due(self._facts.pacing, None if self._age is None else self._age.elapsed_ms):
                self._renew()
            return self._sink

    def _renew(self) -> None:
        facts, asked = self._facts, Stopwatch()
        try:
            order = self._ledger.work_order(facts.crawl_id, facts.depth, attempt=facts.attempt, run_id=facts.run_id)
        except ServiceError as error:  # a level that is no longer ours learns it from the answers to its results
            self._log.warning("the sink's token was not renewed: %s", error)
            return
        self._sink, self._age = order.artifact_sink, asked
        self._log.info("the sink's token is renewed")
