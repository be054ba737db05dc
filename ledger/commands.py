"""What `python -m ledger` does besides serving: `migrate`, `backup FILE`, `prune`. Each says what it did on stdout."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ledger.artifacts.s3_settings import read_s3_settings
from ledger.clock import utc_now
from ledger.errors import SettingsRefused
from ledger.parts import places_of
from ledger.services.prune import Pruned, PruneService
from ledger.settings import Settings, read_settings
from ledger.store.backup import copy_to
from ledger.store.database import Store
from ledger.store.migrate import migrate, require_current, schema_of

Command = Callable[[Settings, Store, argparse.Namespace], int]


def run(arguments: Sequence[str]) -> int:
    """0 when it was done, 1 when it could not be, 2 when the settings do not hold together."""
    chosen = _parser().parse_args(arguments)
    command: Command = chosen.command
    try:
        settings = read_settings()
        store = Store(settings.store_url)
        try:
            return command(settings, store, chosen)
        finally:
            store.close()
    except SettingsRefused as refusal:
        print(refusal, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m ledger", description="Without a command: serve.")
    names = parser.add_subparsers(required=True, metavar="COMMAND")
    names.add_parser("migrate", help="bring the schema up to this ledger's").set_defaults(command=_migrate)
    backup = names.add_parser("backup", help="copy the database while it is in use")
    backup.add_argument("file", type=Path)
    backup.set_defaults(command=_backup)
    pruning = names.add_parser("prune", help="remove crawls that ended long ago, with their artifacts")
    pruning.add_argument("--days", type=int, help="how long ago; else LEDGER_RETENTION_DAYS")
    pruning.add_argument("--dry-run", action="store_true", help="only say what would go")
    pruning.set_defaults(command=_prune)
    return parser


def _migrate(settings: Settings, store: Store, _: argparse.Namespace) -> int:
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = migrate(store)
    after = schema_of(store)
    if before.current:
        print(f"the schema is at revision {after.found} already")
    else:
        print(f"the schema went from revision {before.found or 'none'} to {after.found}")
    return 0


def _prune(settings: Settings, store: Store, chosen: argparse.Namespace) -> int:
    days = settings.retention_days if chosen.days is None else chosen.days
    if days is None or days < 1:
        raise SettingsRefused("give --days N (1 or more), or set LEDGER_RETENTION_DAYS")
    require_current(store, may_migrate=False)
    done = PruneService(store, places_of(settings.artifact_root, read_s3_settings()), utc_now).prune(
        days, dry_run=chosen.dry_run
    )
    print(told(done, dry_run=chosen.dry_run))
    return 1 if done.troubles or done.other_at_it else 0


def told(done: Pruned, *, dry_run: bool) -> str:
    """What pruning did, for a person."""
    if done.other_at_it:
        return "another ledger is pruning this database just now"
    verb = "would go" if dry_run else "removed"
    lines = [f"{verb}: {len(done.crawls)} crawls, {done.files} files, {done.size_bytes} bytes"]
    if done.elsewhere:
        lines.append(
            f"{done.elsewhere} artifacts stay: they lie in no place of this ledger, or carry another crawl's name"
        )
    return "\n".join([*lines, *(f"stays: {trouble}" for trouble in done.troubles)])


def _backup(_: Settings, store: Store, chosen: argparse.Namespace) -> int:
    if schema_of(store).found is None:
        raise SettingsRefused("LEDGER_DATABASE_URL: there is no ledger in this database")
    try:
        size_bytes = copy_to(store, chosen.file)
    except OSError as error:
        print(f"{chosen.file}: {error.strerror or error}", file=sys.stderr)
        return 1
    print(f"{chosen.file}: {size_bytes} bytes; tokens and keys are files of LEDGER_DATA, and not in it")
    return 0
