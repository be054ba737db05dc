"""Creating and updating the Blocks from explicit values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from prefect.blocks.core import Block
from pydantic import SecretStr

from blocks.capture_endpoints import CaptureEndpoints
from blocks.ledger_connection import LedgerConnection
from blocks.load import BLOCK_NAME, ComityBlocks
from blocks.script_compiler import ScriptCompiler


@dataclass(frozen=True)
class BlockValues:
    """What the three Blocks hold. Nothing has a default but the slots: an empty token or CA is given on purpose."""

    ledger_url: str
    ledger_token: str
    ledger_trigger_token: str
    ledger_tls_ca_pem: str
    capture_urls: Sequence[str]
    capture_token: str
    capture_tls_ca_pem: str
    compiler_url: str
    compiler_token: str
    compiler_tls_ca_pem: str
    slots_per_endpoint: int = 1


@dataclass(frozen=True)
class SavedBlock:
    """A Block as it was saved: `slug` is for example `ledger-connection/comity`."""

    slug: str
    action: Literal["created", "updated"]


def blocks_of(values: BlockValues) -> ComityBlocks:
    """The three Blocks, checked, not saved. Raises pydantic's ValidationError, whose message names the field."""
    return ComityBlocks(
        ledger=LedgerConnection(
            url=values.ledger_url,
            token=SecretStr(values.ledger_token),
            tls_ca_pem=values.ledger_tls_ca_pem,
            trigger_token=SecretStr(values.ledger_trigger_token),
        ),
        endpoints=CaptureEndpoints(
            urls=list(values.capture_urls),
            token=SecretStr(values.capture_token),
            tls_ca_pem=values.capture_tls_ca_pem,
            slots_per_endpoint=values.slots_per_endpoint,
        ),
        compiler=ScriptCompiler(
            url=values.compiler_url, token=SecretStr(values.compiler_token), tls_ca_pem=values.compiler_tls_ca_pem
        ),
    )


def init_blocks(values: BlockValues) -> list[SavedBlock]:
    """Register the three Block types and create or update the Blocks named `comity`.

    All three are checked before the first is saved. Raises as `blocks_of`, and httpx's or Prefect's error where the
    Prefect API cannot be reached.
    """
    blocks = blocks_of(values)
    return [_save(block) for block in (blocks.ledger, blocks.endpoints, blocks.compiler)]


def _save(block: Block) -> SavedBlock:
    kind = type(block)
    existed = _exists(kind)
    block.save(BLOCK_NAME, overwrite=True)
    return SavedBlock(slug=f"{kind.get_block_type_slug()}/{BLOCK_NAME}", action="updated" if existed else "created")


def _exists(kind: type[Block]) -> bool:
    from prefect.client.orchestration import get_client  # noqa: PLC0415 -- half a second that loading does not need
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415 -- as above

    with get_client(sync_client=True) as client:
        try:
            client.read_block_document_by_name(BLOCK_NAME, kind.get_block_type_slug())
        except ObjectNotFound:
            return False
        return True
