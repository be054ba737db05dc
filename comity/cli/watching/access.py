"""How commands of watching reach the ledger, and what a refusal of it says."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from comity.cli.data_folder import data_folder
from comity.cli.errors import BadInput, CliError
from comity.cli.options import DataOption

if TYPE_CHECKING:
    from blocks.clients.watch_people import KeeperClient

AT_ONCE = 1000
SHOWN_BY = {
    "page": "comity watch pages",
    "list": "comity watch lists",
    "feed": "comity watch feeds list",
    "channel": "comity watch channels list",
    "event": "comity watch show PAGE",
}
"""What shows the things of a kind, for who named one that is not there."""
_MISSING = re.compile(r"no (page|list|feed|channel|event) '.*'")
MAX_NAME_CHARACTERS = 200
"""Of a list."""


@contextmanager
def keeper(data: DataOption) -> "Iterator[KeeperClient]":
    """The ledger of the running stack, as its operator sees it. What it refuses is said in its words."""
    from blocks.clients.errors import ServiceRefused
    from blocks.clients.watch_people import KeeperClient
    from comity.cli.stack.remote import require_stack

    folder = data_folder(data)
    url = str(require_stack(folder).addresses["ledger"])
    try:
        with fields_named(), KeeperClient(url, folder.ledger_token("operator").read_text().strip(), "") as ledger:
            yield ledger
    except ServiceRefused as refusal:
        named = "; ".join(f"{one.field}: {one.message}" for one in refusal.fields)
        if refusal.status in (400, 404, 413):
            raise BadInput(named or _with_next_step(refusal.message)) from None
        if refusal.status == 409:
            raise CliError(named or refusal.message) from None
        raise


def _with_next_step(message: str) -> str:
    missing = _MISSING.fullmatch(message)
    return message if missing is None else f"{message}: `{SHOWN_BY[missing[1]]}` shows what there is"


def list_names(ledger: "KeeperClient") -> dict[str, str]:
    """Names of lists by their ids."""
    return {one.list_id: one.name for one in ledger.watch_lists().lists}


@contextmanager
def fields_named(whole: str = "") -> "Iterator[None]":
    """What the contract does not take is BadInput that names its field; `whole` where it is none of them alone."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"]) or whole
        message = str(problem["msg"]).removeprefix("Value error, ")
        raise BadInput(f"{where}: {message}" if where else message) from None


def page_of(ledger: "KeeperClient", named: str) -> str:
    """The page by its id or its URL. Raises BadInput."""
    if named.startswith("w") and named[1:].isdigit():
        return named
    found = ledger.watched_pages(url=named).pages
    if not found:
        raise BadInput(f"nobody watches {named}: `comity watch pages` shows what is watched")
    return found[0].page_id


def list_of(ledger: "KeeperClient", named: str, *, make: bool = False) -> str:
    """The list by its id or its name; `make`: a new one where there is none of that name. Raises BadInput."""
    from comity.contract.watch import NewList

    known = ledger.watch_lists().lists
    same = [one.list_id for one in known if named in (one.list_id, one.name)]
    if len(same) > 1:
        raise BadInput(f"{len(same)} lists are called {named!r}; give an id: {', '.join(same)}")
    if same:
        return same[0]
    if not make:
        raise BadInput(f"no list {named!r}: `comity watch lists` shows them")
    if not 0 < len(named) <= MAX_NAME_CHARACTERS:
        raise BadInput(f"list {named[:40]!r}: a name has 1 to {MAX_NAME_CHARACTERS} characters")
    return ledger.add_list(NewList(name=named)).list_id
