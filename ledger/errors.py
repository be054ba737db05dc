"""What the ledger refuses, as exceptions. Which status each becomes is decided once, in `ledger.api.refusals`.

LedgerRefusal            every refusal; its text is for the caller and says the next step
├── BadInput             fields that break a rule, by their wire names
│   └── ExtractorWrong   a program with mistakes; has its diagnostics
├── Unauthenticated      no token, or none that lets anybody in
├── IssuerAway           a token of the issuer's that cannot be checked now
├── Unknown              an id that this caller has no row for
│   └── NoFeedHere       an address that leads to no feed
├── NoSuchPath           no such call, or none that this caller may make
├── NoSuchMethod         the path is there, the method is not
├── WrongState           the thing exists, but not in a state that allows this
│   ├── CrawlRuns        every slot is taken; names the crawl in the way
│   ├── SlotsTaken       the same, by crawls that the caller may not see
│   ├── NoEnabledTarget  a crawl from targets where none is enabled
│   ├── NameTaken        an artifact of that name has other bytes
│   ├── NoSpace          less free space than the floor: nothing new is begun
│   ├── OutcomesMissing  a level cannot close yet; names the pages
│   ├── HostTaken        a host that others visit, or whose lease has ended
│   └── StaleRun         a run that is no longer, or never was, the level's own
├── KeyReused            an Idempotency-Key that came before with another body
├── TooLarge             a body over its limit
├── TooSlow              a sender that has fallen silent
├── SinkFull             no room for an artifact
├── Foreign              a Host or Origin that is not ours
├── Lacking              a capability that this deployment does not have
├── StreamsFull          as many event streams are open as this ledger keeps
├── ContentsAway         the artifact store does not take, or give, a content
├── StoreBusy            the database did not let us in within its budget
├── StoreAway            the database does not answer
├── ArtifactsAway        the store that artifacts lie in does not answer
└── StoreFull            the database takes no writes: its disk is full, or read-only
SettingsRefused          half-configured: the process does not start
"""

from collections.abc import Sequence
from datetime import datetime

from comity.contract.extraction import DiagnosticView
from comity.contract.ledger import (
    CRAWL_IN_THE_WAY,
    EXTRACTOR_REJECTED,
    KEY_REUSED,
    NAME_TAKEN,
    NO_ENABLED_TARGET,
    NO_SPACE,
    OUTCOMES_MISSING,
    SLOTS_TAKEN,
    STALE_RUN,
    ErrorField,
)


class LedgerRefusal(Exception):  # noqa: N818  a refusal is an answer, not an error of ours
    """A refusal whose text may be shown to the caller as it is. `code` is for programs, where status is not enough."""

    code: str | None = None


class BadInput(LedgerRefusal):
    """Input that breaks a rule. Every field is named by its dotted wire name."""

    def __init__(self, fields: Sequence[ErrorField], error: str | None = None) -> None:
        self.fields = list(fields)
        named = "; ".join(f"{field.field}: {field.message}" for field in self.fields[:3])
        more = len(self.fields) - 3
        super().__init__(error or (named + (f"; and {more} more" if more > 0 else "")))

    @classmethod
    def at(cls, field: str, message: str) -> "BadInput":
        """One field, one message."""
        return cls([ErrorField(field=field, message=message)])


class ExtractorWrong(BadInput):
    """A program that could never run. Every diagnostic is named with its place."""

    code = EXTRACTOR_REJECTED

    def __init__(self, fields: Sequence[ErrorField], diagnostics: Sequence[DiagnosticView], error: str) -> None:
        super().__init__(fields, error)
        self.diagnostics = list(diagnostics)


class Unauthenticated(LedgerRefusal):
    """401. One sentence for unknown, expired, revoked and forged alike: which it is, is nobody's business."""

    def __init__(self) -> None:
        super().__init__("a valid token is needed: Authorization: Bearer <token>; `comity token create` makes one")


class IssuerAway(LedgerRefusal):
    """503: the token cannot be checked, and nobody is let in unchecked."""

    def __init__(self) -> None:
        super().__init__("the issuer of this token cannot be asked for its keys now; try again in a minute")


class Unknown(LedgerRefusal):
    """Nothing by that id, as far as this caller may know."""

    def __init__(self, what: str, ident: str) -> None:
        super().__init__(f"no {what} {ident[:100]!r}")


class NoFeedHere(Unknown):
    """Alike for an address that never led to a feed and for one that was taken back: addresses are secrets."""

    def __init__(self) -> None:
        super().__init__("feed", "")
        self.args = ("no feed has this address: it never was one, or was taken back; ask whoever gave it to you",)


class NoSuchPath(LedgerRefusal):
    """404, for callers without the right too: they learn nothing of what others may do."""

    def __init__(self, path: str) -> None:
        super().__init__(f"no such path: {path[:200]!r}")


class NoSuchMethod(LedgerRefusal):
    """405."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"{method[:20]} is not for {path[:200]}")


class WrongState(LedgerRefusal):
    """Not now: the state of the thing does not allow it."""


class NoEnabledTarget(WrongState):
    """A crawl from targets that would have no seeds."""

    code = NO_ENABLED_TARGET

    def __init__(self) -> None:
        super().__init__("no enabled target; add one with POST /api/targets, or give seeds")


class CrawlRuns(WrongState):
    """A start while every slot is taken."""

    code = CRAWL_IN_THE_WAY

    def __init__(self, crawl_id: str, started_at: datetime) -> None:
        self.crawl_id = crawl_id
        self.started_at = started_at
        super().__init__(
            f"crawl {crawl_id} is running; wait for it, or cancel it with POST /api/crawls/{crawl_id}/cancel"
        )


class SlotsTaken(WrongState):
    """A start while every slot is taken by crawls that this caller may not see."""

    code = SLOTS_TAKEN

    def __init__(self) -> None:
        super().__init__("every slot is taken by crawls of others; try again later")


class NoSpace(WrongState):
    """The disk is too full to begin anything."""

    code = NO_SPACE


class OutcomesMissing(WrongState):
    """A closing without an outcome for every page of the frontier."""

    code = OUTCOMES_MISSING

    def __init__(self, missing: Sequence[str]) -> None:
        self.missing = list(missing)
        super().__init__(f"{len(self.missing)} pages of the level have no outcome yet; report them, then close again")


class NameTaken(WrongState):
    """What was written once stays as it is."""

    code = NAME_TAKEN

    def __init__(self, filename: str) -> None:
        super().__init__(f"{filename[:300]} is here already with other bytes; an artifact is never written over")


class StaleRun(WrongState):
    """A run that does not hold the level: it should end quietly."""

    code = STALE_RUN


class HostTaken(WrongState):
    """A host that the caller may not visit now. `stop`: nor later, for its work is over."""

    def __init__(self, reason: str, *, code: str, retry_after_ms: int, stop: bool) -> None:
        self.code = code
        self.retry_after_ms = retry_after_ms
        self.stop = stop
        super().__init__(reason if stop else f"{reason}; ask again in {retry_after_ms} ms")


class KeyReused(LedgerRefusal):
    """422, as draft-ietf-httpapi-idempotency-key-header asks.

    Not 409: this is a caller's mistake, whatever the state of things.
    """

    code = KEY_REUSED

    def __init__(self) -> None:
        super().__init__("this Idempotency-Key came before with another body; use a new key for a new crawl")


class TooLarge(LedgerRefusal):
    """413."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the body is over {limit_bytes} bytes; send less at once")


class TooSlow(LedgerRefusal):
    """408."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"the body did not go on for {limit_s:g} s; send it again")


class SinkFull(LedgerRefusal):
    """507 (RFC 4918)."""

    def __init__(self) -> None:
        super().__init__("the disk that artifacts are kept on is full; make room, then send it again")


class Foreign(LedgerRefusal):
    """A browser was talked into calling us (RFC 6454, DNS rebinding), or a proxy forgot to be named."""


class Lacking(LedgerRefusal):
    """501: one sentence that says what this deployment lacks."""


class StreamsFull(LedgerRefusal):
    """503: somebody else's has to end first."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} event streams are open, which is the limit (LEDGER_MAX_EVENT_STREAMS); try again")


class ContentsAway(LedgerRefusal):
    """503: nothing of the call was done."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the artifact store cannot be used now ({why}); try again in a few seconds")


class StoreBusy(LedgerRefusal):
    """503: try again."""

    def __init__(self) -> None:
        super().__init__("the ledger's database is busy; try again in a second")


class StoreAway(LedgerRefusal):
    """503: the database server is down, or starting."""

    def __init__(self) -> None:
        super().__init__("the ledger's database does not answer; try again in a few seconds")


class ArtifactsAway(LedgerRefusal):
    """503: the bucket or the folder's disk is away."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the artifact cannot be read now: {problem}; try again in a few seconds")


class StoreFull(LedgerRefusal):
    """503: nothing can be written until somebody makes room."""

    def __init__(self) -> None:
        super().__init__("the ledger's database cannot be written: its disk is full or read-only; make room, try again")


class SettingsRefused(Exception):  # noqa: N818  named as the other refusals are
    """The settings do not hold together. The text names each setting and what it needs."""
