"""The ledger of a running stack, as the operator, or one elsewhere."""

from pathlib import Path

from blocks.clients.ledger import LedgerClient
from comity.cli.data_folder import DataFolder
from comity.cli.errors import BadInput, CliError
from comity.cli.stack.remote import require_stack
from comity.cli.stack.state import StackState

OPERATOR_TOKEN = "operator"  # noqa: S105 - the name of a file
CALL_BUDGET_MS = 30_000


def operator_client(data: DataFolder, stack: StackState) -> LedgerClient:
    """A client with the operator's token. Raises CliError naming the token file where it cannot be read."""
    path = data.ledger_token(OPERATOR_TOKEN)
    try:
        token = path.read_text().strip()
    except OSError as error:
        raise CliError(
            f"{path}: the operator's token cannot be read ({error.strerror}); run as the stack's user"
        ) from None
    return LedgerClient(str(stack.addresses["ledger"]), token, "", timeout_ms=CALL_BUDGET_MS)


def running_ledger(data: DataFolder) -> LedgerClient:
    """The ledger of the stack that runs on the data folder. Raises NoStack where none does; CliError."""
    return operator_client(data, require_stack(data))


def client_at(url: str, token_file: Path, ca_file: Path | None) -> LedgerClient:
    """A client of the ledger there. Raises BadInput naming the option that is wrong."""
    try:
        token = token_file.read_text().strip()
        ca_pem = ca_file.read_text() if ca_file is not None else ""
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be read ({error.strerror})") from None
    try:
        return LedgerClient(url, token, ca_pem, timeout_ms=CALL_BUDGET_MS)
    except ValueError as error:
        raise BadInput(f"--ledger-url, --ca-file: {error}") from None
