"""The script catalogue: what crawls run inside pages when they name nothing else."""

from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError

from comity.contract.ledger import AddScript, ScriptDetail, ScriptList, ScriptView
from comity.contract.scripts import INLINE_PREFIX, Phase, ScriptId, sha256_of
from comity.contract.wire import Request
from ledger import log
from ledger.errors import BadInput, SettingsRefused
from ledger.services.keep_catalogue import CatalogueService
from ledger.services.pin_scripts import MAX_SCRIPTS_BYTES
from ledger.store.catalogue import SCRIPTS
from ledger.store.models_catalogue import Script, ScriptVersion


class _ShippedScript(Request):
    id: ScriptId
    phase: Phase
    file: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.ts$")]
    options: dict[str, Any] | None = None
    description: str = ""


class _ShippedCatalogue(Request):
    scripts: list[_ShippedScript]


class ScriptService(CatalogueService[Script, ScriptVersion, ScriptView, ScriptDetail]):
    """Adds, lists, enables and removes catalogue scripts."""

    noun = "script"
    rows = SCRIPTS

    def every(self) -> ScriptList:
        """The newest version of each script, in id order."""
        return ScriptList(scripts=list(self._every()))

    def add(self, order: AddScript) -> tuple[ScriptView, bool]:
        """A new version of the id, or the newest one where bytes, phase and options are the same.

        True where it is new.

        Adding a removed id brings it back. Raises BadInput.
        """
        if order.id.startswith(INLINE_PREFIX):
            raise BadInput.at("id", f"ids that begin with {INLINE_PREFIX} are reserved for scripts of one crawl")
        if len(order.source.encode("utf-8")) > MAX_SCRIPTS_BYTES:
            raise BadInput.at("source", f"is over {MAX_SCRIPTS_BYTES} bytes, which no crawl could run")
        return self._add(order.id, _version(order))

    def ship(self, folder: Path) -> None:
        """Bring the scripts of `folder/catalogue.json` into the catalogue; ones it never had become a new version.

        What an operator disabled, removed or replaced by an own version stays so. Raises SettingsRefused where the
        folder contradicts itself.
        """
        for order in _shipped(folder):
            shipped = _version(order)
            with self._store.writing() as tx:
                known = [self.identity(version) for version in self.rows.versions(tx, order.id)]
                if self.identity(shipped) in known:
                    continue
                script, version, _ = self._put(tx, order.id, shipped)
                log.event("script_shipped", script=script.id, version=version.version, sha256=version.sha256)

    def view(self, entry: Script, version: ScriptVersion) -> ScriptView:
        """Without its source."""
        return ScriptView(
            id=entry.id,
            version=version.version,
            phase=cast(Phase, version.phase),
            sha256=version.sha256,
            options=version.options,
            description=version.description,
            enabled=entry.enabled,
            added_at=version.added_at,
        )

    def detail(self, entry: Script, version: ScriptVersion, versions: list[int]) -> ScriptDetail:
        """With its source."""
        return ScriptDetail(**dict(self.view(entry, version)), source=version.source, versions=versions)

    def identity(self, version: ScriptVersion) -> object:
        """Its bytes, phase and options."""
        return version.sha256, version.phase, version.options


def _version(order: AddScript) -> ScriptVersion:
    return ScriptVersion(
        script_id=order.id,
        phase=order.phase,
        source=order.source,
        sha256=sha256_of(order.source),
        options=order.options,
        description=order.description,
    )


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
