"""Health and readiness of the ledger."""

from comity.contract.wire import Answer


class LedgerHealth(Answer):
    ok: bool
    version: str


class ReadinessPart(Answer):
    """`required`: without it the ledger is not ready. `problem` is for people."""

    name: str
    ok: bool
    required: bool
    problem: str | None = None


class LedgerReadiness(Answer):
    ready: bool
    parts: list[ReadinessPart]
