"""Commands about what a stack keeps: copy its ledger, remove what is old. The stack may run or not."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.data_folder import DataFolder, data_folder
from comity.cli.errors import BadInput, CliError
from comity.cli.options import DataOption

if TYPE_CHECKING:
    from ledger.store.database import Store


def backup(
    to: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="A new file, or a folder for one with the time in its name.")
    ],
    data: DataOption = None,
) -> None:
    """Copy the ledger's database, consistently, while it is in use.

    Archives are plain files below `artifacts/`: copy them after this. Tokens and keys are not in the copy. A ledger on
    PostgreSQL is copied with pg_dump; the command is printed.
    """
    from ledger.errors import SettingsRefused
    from ledger.store.backup import copy_to

    target = to / f"ledger-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.db" if to.is_dir() else to
    store = _store(data_folder(data))
    try:
        size_bytes = copy_to(store, target)
    except SettingsRefused as refusal:
        raise CliError(str(refusal)) from None
    except OSError as error:
        raise CliError(f"{target}: {error.strerror or error}") from None
    finally:
        store.close()
    print(f"{target}: {size_bytes} bytes")


def prune(
    days: Annotated[
        int | None,
        typer.Option(min=1, help="Crawls that ended longer ago. Else LEDGER_RETENTION_DAYS.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    data: DataOption = None,
) -> None:
    """Remove crawls that ended long ago: their archives first, their rows last. Running crawls are never touched."""
    from ledger.artifacts.s3_settings import read_s3_settings
    from ledger.clock import utc_now
    from ledger.commands import told
    from ledger.errors import SettingsRefused
    from ledger.parts import places_of
    from ledger.services.prune import PruneService

    chosen = days or _retention_days()
    folder = data_folder(data)
    store = _store(folder)
    try:
        places = places_of(folder.artifacts, read_s3_settings())
        done = PruneService(store, places, utc_now).prune(chosen, dry_run=dry_run)
    except SettingsRefused as refusal:
        raise CliError(str(refusal)) from None
    finally:
        store.close()
    print(told(done, dry_run=dry_run))
    if done.troubles or done.other_at_it:
        raise typer.Exit(1)


def _retention_days() -> int:
    given = os.environ.get("LEDGER_RETENTION_DAYS", "")
    if not given.isdigit() or int(given) < 1:
        raise BadInput("how long ago? give --days N (1 or more), or set LEDGER_RETENTION_DAYS")
    return int(given)


def _store(folder: DataFolder) -> "Store":
    """The database of the folder's ledger, at this version's schema."""
    from ledger.errors import SettingsRefused
    from ledger.store.database import Store
    from ledger.store.migrate import schema_of

    file = folder.ledger / "ledger.db"
    url = os.environ.get("LEDGER_DATABASE_URL")
    if url is None and not file.exists():
        raise BadInput(f"no ledger in {folder.root}: `comity up` makes one, --data names another folder")
    try:
        store = Store(url or f"sqlite:///{file}")
        schema = schema_of(store)
    except SettingsRefused as refusal:
        raise CliError(str(refusal)) from None
    if not schema.current:
        store.close()
        raise CliError(
            f"the ledger's schema is at revision {schema.found}, and this version works on {schema.wanted}: "
            "`comity up` brings it there"
        )
    return store
