"""Reading the Blocks that every run stands on."""

from dataclasses import dataclass
from typing import TypeVar, cast

import httpx
from prefect.blocks.core import Block
from pydantic import ValidationError

from blocks.capture_endpoints import CaptureEndpoints
from blocks.errors import BlockUnreadable
from blocks.ledger_connection import LedgerConnection
from blocks.rules import first_problem
from blocks.script_compiler import ScriptCompiler

BLOCK_NAME = "comity"
"""All three have this one name. It is never a parameter: a run must not choose where secrets are sent."""

BlockT = TypeVar("BlockT", bound=Block)


@dataclass(frozen=True)
class ComityBlocks:
    """Where everything is."""

    ledger: LedgerConnection
    endpoints: CaptureEndpoints
    compiler: ScriptCompiler


def load_blocks() -> ComityBlocks:
    """All three Blocks, as they are now. Raises BlockUnreadable for the first that cannot be read."""
    return ComityBlocks(ledger=load_ledger(), endpoints=_load(CaptureEndpoints), compiler=_load(ScriptCompiler))


def load_ledger() -> LedgerConnection:
    """`ledger-connection/comity`. Raises BlockUnreadable."""
    return _load(LedgerConnection)


def _load(kind: type[BlockT]) -> BlockT:
    slug = f"{kind.get_block_type_slug()}/{BLOCK_NAME}"
    try:
        return cast(BlockT, kind.load(BLOCK_NAME))
    except Exception as error:  # Prefect raises ValueError for a missing one, httpx's errors for a missing server
        for problem in (error, error.__cause__):
            if isinstance(problem, ValidationError):  # quoted without its input, which holds the token
                raise BlockUnreadable(slug, first_problem(problem)) from None
        first_line = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise BlockUnreadable(slug, first_line, answered=not isinstance(error, httpx.HTTPError)) from error
