"""Which Prefect the doctor looks at: the embedded one of the data folder, else the one that Prefect's settings name."""

import os
from dataclasses import dataclass
from pathlib import Path

from comity.cli.data_folder import DataFolder
from comity.cli.errors import NoStack
from comity.cli.stack.remote import known_addresses

ARTIFACT_ROOT_VARIABLE = "LEDGER_ARTIFACT_ROOT"


@dataclass(frozen=True)
class Reach:
    """`embedded`: parts, folder and tokens are on this machine. `artifact_root` None where it is not known here."""

    api_url: str
    basic: tuple[str, str] | None
    embedded: bool
    artifact_root: Path | None


def reach_of(data: DataFolder) -> Reach:
    """Raises NoStack where neither the folder nor `PREFECT_API_URL` names a Prefect."""
    try:
        access = known_addresses(data).prefect
    except NoStack:
        api_url = os.environ.get("PREFECT_API_URL")
        if not api_url:
            raise
        user, _, password = os.environ.get("PREFECT_API_AUTH_STRING", "").partition(":")
        root = os.environ.get(ARTIFACT_ROOT_VARIABLE)
        return Reach(api_url.rstrip("/"), (user, password) if user else None, False, Path(root) if root else None)
    return Reach(access.api_url, access.basic, True, data.artifacts)
