"""The script catalogue: what crawls run inside pages when they name nothing else."""

from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError

from comity.contract.ledger import AddScript, ChangeScript, ScriptDetail, ScriptList, ScriptView
from comity.contract.scripts import INLINE_PREFIX, Phase, ScriptId, sha256_of
from comity.contract.wire import Request
from ledger import log
from ledger.clock import Clock
from ledger.errors import BadInput, SettingsRefused, Unknown
from ledger.services.pin_scripts import MAX_SCRIPTS_BYTES
from ledger.store import scripts
from ledger.store.database import Store, Tx
from ledger.store.models import Script, ScriptVersion


class _ShippedScript(Request):
    id: ScriptId
    phase: Phase
    file: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.ts$")]
    options: dict[str, Any] | None = None
    description: str = ""


class _ShippedCatalogue(Request):
    scripts: list[_ShippedScript]


class ScriptService:
    """Adds, lists, enables and removes catalogue scripts."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def every(self) -> ScriptList:
        """The newest version of each script, in id order."""
        with self._store.reading() as tx:
            return ScriptList(scripts=[_view(script, version) for script, version in scripts.newest(tx)])

    def one(self, script_id: str, number: int | None) -> ScriptDetail:
        """A version with its source; None: the newest. Raises Unknown."""
        with self._store.reading() as tx:
            script = self._entry(tx, script_id)
            version = scripts.version(tx, script_id, number or script.newest_version)
            if version is None:
                raise Unknown("version of the script", f"{script_id} {number}")
            numbers = [one.version for one in scripts.versions(tx, script_id)]
            return ScriptDetail(**dict(_view(script, version)), source=version.source, versions=numbers)

    def add(self, order: AddScript) -> tuple[ScriptView, bool]:
        """A new version of the id, or the newest one where bytes, phase and options are the same.

        True where it is new.

        Adding a removed id brings it back. Raises BadInput.
        """
        if order.id.startswith(INLINE_PREFIX):
            raise BadInput.at("id", f"ids that begin with {INLINE_PREFIX} are reserved for scripts of one crawl")
        if len(order.source.encode("utf-8")) > MAX_SCRIPTS_BYTES:
            raise BadInput.at("source", f"is over {MAX_SCRIPTS_BYTES} bytes, which no crawl could run")
        with self._store.writing() as tx:
            script, version, added = self._put(tx, order)
            if script.removed:
                scripts.set_removed(tx, script, False)
            return _view(script, version), added

    def change(self, script_id: str, order: ChangeScript) -> ScriptView:
        """Enable or disable. Raises Unknown."""
        with self._store.writing() as tx:
            script = self._entry(tx, script_id)
            scripts.set_enabled(tx, script, order.enabled)
            version = scripts.version(tx, script_id, script.newest_version)
            assert version is not None
            return _view(script, version)

    def remove(self, script_id: str) -> None:
        """Take the script out of the catalogue; crawls that pinned it keep it. Raises Unknown."""
        with self._store.writing() as tx:
            scripts.set_removed(tx, self._entry(tx, script_id), True)

    def ship(self, folder: Path) -> None:
        """Bring the scripts of `folder/catalogue.json` into the catalogue; ones it never had become a new version.

        What an operator disabled, removed or replaced by an own version stays so. Raises SettingsRefused where the
        folder contradicts itself.
        """
        for order in _shipped(folder):
            identity = (sha256_of(order.source), order.phase, order.options)
            with self._store.writing() as tx:
                known = scripts.versions(tx, order.id)
                if identity in [(version.sha256, version.phase, version.options) for version in known]:
                    continue
                script, version, _ = self._put(tx, order)
                log.event("script_shipped", script=script.id, version=version.version, sha256=version.sha256)

    def _entry(self, tx: Tx, script_id: str) -> Script:
        script = scripts.entry(tx, script_id)
        if script is None or script.removed:
            raise Unknown("script", script_id)
        return script

    def _put(self, tx: Tx, order: AddScript) -> tuple[Script, ScriptVersion, bool]:
        sha256 = sha256_of(order.source)
        script = scripts.entry(tx, order.id)
        newest = scripts.version(tx, order.id, script.newest_version) if script is not None else None
        if script is not None and newest is not None:
            same = (newest.sha256, newest.phase, newest.options) == (sha256, order.phase, order.options)
            if same:
                scripts.describe(tx, newest, order.description or newest.description)
                return script, newest, False
        script, version = scripts.add_version(
            tx,
            script_id=order.id,
            phase=order.phase,
            source=order.source,
            sha256=sha256,
            options=order.options,
            description=order.description,
            at=self._clock(),
        )
        return script, version, True


def _shipped(folder: Path) -> list[AddScript]:
    listing = folder / "catalogue.json"
    if not listing.is_file():
        return []
    try:
        catalogue = _ShippedCatalogue.model_validate_json(listing.read_bytes())
        return [
            AddScript(
                id=entry.id,
                phase=entry.phase,
                source=(folder / entry.file).read_text("utf-8"),
                options=entry.options,
                description=entry.description,
            )
            for entry in catalogue.scripts
        ]
    except (ValidationError, OSError, UnicodeDecodeError) as error:
        raise SettingsRefused(f"{listing}: the shipped script catalogue is broken: {error}") from None


def _view(script: Script, version: ScriptVersion) -> ScriptView:
    return ScriptView(
        id=script.id,
        version=version.version,
        phase=cast(Phase, version.phase),
        sha256=version.sha256,
        options=version.options,
        description=version.description,
        enabled=script.enabled,
        added_at=version.added_at,
    )
