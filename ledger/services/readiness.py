"""Whether this ledger can do its work now, part by part, with what an operator may look at first."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from comity.contract.ledger import LedgerReadiness, ReadinessPart
from ledger import log
from ledger.errors import LedgerRefusal, SettingsRefused
from ledger.services.prefect_api import PrefectApi, PrefectAway
from ledger.services.space import Space
from ledger.store.database import Store
from ledger.store.migrate import schema_of


class ReadinessService:
    """Looks at everything that the ledger stands on.

    Without database, schema or artifacts no report can be taken, so the ledger is not ready. Without Prefect or room
    no level begins, but results of those under way must still come in: these are told, and change nothing.
    """

    def __init__(self, store: Store, root: Path, space: Space, prefect: PrefectApi) -> None:
        self._store = store
        self._root = root
        self._space = space
        self._prefect = prefect

    async def look(self) -> LedgerReadiness:
        """Every part, asked just now. Problems name no address and no path: anybody may ask."""
        prefect, *parts = await asyncio.gather(
            self._prefect_part(),
            asyncio.to_thread(_part, "database", True, self._database),
            asyncio.to_thread(_part, "schema", True, self._schema),
            asyncio.to_thread(_part, "artifacts", True, self._artifacts),
            asyncio.to_thread(_part, "space", False, self._room),
        )
        found = [*parts, prefect]
        return LedgerReadiness(ready=all(part.ok for part in found if part.required), parts=found)

    def _database(self) -> str | None:
        self._store.ping()
        outage = self._store.outage
        return "takes no writes: its disk is full or read-only" if outage and outage.until is None else None

    def _schema(self) -> str | None:
        schema = schema_of(self._store)
        if schema.current:
            return None
        return f"is at revision {schema.found or 'none'}, and this ledger works on {schema.wanted}"

    def _artifacts(self) -> str | None:
        if not self._root.is_dir():
            return "LEDGER_ARTIFACT_ROOT is not there; is it mounted?"
        if not os.access(self._root, os.R_OK | os.X_OK):
            return "LEDGER_ARTIFACT_ROOT cannot be read by this user"
        return None

    def _room(self) -> str | None:
        return "less is free than LEDGER_MIN_FREE_BYTES: no level begins" if self._space.lacking() else None

    async def _prefect_part(self) -> ReadinessPart:
        try:
            await self._prefect.health()
        except PrefectAway as trouble:
            log.warning("prefect_silent", why=str(trouble))
            return ReadinessPart(name="prefect", ok=False, required=False, problem="does not answer: no level begins")
        return ReadinessPart(name="prefect", ok=True, required=False)


def _part(name: str, required: bool, ask: Callable[[], str | None]) -> ReadinessPart:
    try:
        problem = ask()
    except (LedgerRefusal, SettingsRefused) as refusal:
        log.warning("not_ready", part=name, why=str(refusal))
        problem = "does not answer, or refuses; the ledger's log tells more"
    return ReadinessPart(name=name, ok=problem is None, required=required, problem=problem)
