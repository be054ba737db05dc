"""What a doctor looks at with the settings that flows use: each service that the Blocks name, link by link.

Shared by the flow that looks from the work pool and the command that looks from where it is typed: a link that holds
here and not there is a matter of addresses.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from blocks.clients.capture import CaptureClient
from blocks.clients.compiler import CompilerClient
from blocks.clients.errors import ServiceError, ServiceRefused
from blocks.clients.ledger import LedgerClient
from blocks.errors import BlockUnreadable
from blocks.load import ComityBlocks, load_blocks
from comity.contract.compiler import CompileRequest


@dataclass(frozen=True)
class Link:
    """One thing that must hold. `fix` says what to do where it does not."""

    name: str
    ok: bool
    said: str
    fix: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def look_at_blocks() -> tuple[ComityBlocks | None, list[Link]]:
    """The Blocks, as a flow run reads them; None and a failed link where one cannot be read."""
    try:
        blocks = load_blocks()
    except BlockUnreadable as error:
        return None, [Link("Blocks", False, f"{error.slug}: {error.why}", error.fix)]
    return blocks, [Link("Blocks", True, "ledger-connection, capture-endpoints and script-compiler, all named comity")]


def look_at_services(blocks: ComityBlocks) -> list[Link]:
    """Ledger, compiler and every capture server, with the Blocks' own addresses, tokens and CAs."""
    links = [_ledger(blocks), _compiler(blocks)]
    links += [_capture(client) for client in blocks.endpoints.clients()]
    return links


def _ledger(blocks: ComityBlocks) -> Link:
    def look(client: LedgerClient) -> str:
        version, subject = client.health().version, client.me().subject
        with blocks.ledger.trigger_client() as trigger:
            return f"version {version}, tokens of {subject} and {trigger.me().subject}"

    url = blocks.ledger.url
    return _asked(f"ledger {url}", blocks.ledger.client, look, "ledger", "LEDGER_PORT")


def _compiler(blocks: ComityBlocks) -> Link:
    def look(client: CompilerClient) -> str:
        health = client.health()
        compiled = client.compile(CompileRequest(scripts=[]))  # asks for the token, which /healthz does not
        return f"TypeScript {health.typescript}, host types {compiled.host_types}"

    return _asked(f"compiler {blocks.compiler.url}", blocks.compiler.client, look, "compiler", "TSCOMPILE_PORT")


def _capture(client: CaptureClient) -> Link:
    def look(opened: CaptureClient) -> str:
        status = opened.status()
        if not status.browser.connected:
            raise NoBrowserError
        secure = "TLS by the Block's CA" if opened.url.startswith("https") else "plaintext"
        return f"{status.browser.version or 'browser'}, {'busy' if status.busy else 'free'}, {secure}"

    return _asked(f"capture server {client.url}", lambda: client, look, "capture server", "CAPTURE_PORT")


class NoBrowserError(Exception):
    """The capture server answers, its browser does not."""


def _asked(name: str, make: Callable[[], Any], look: Callable[[Any], str], part: str, port_setting: str) -> Link:
    try:
        with make() as client:
            return Link(name, True, look(client))
    except ServiceRefused as error:
        if error.status in (401, 403, 404):
            fix = f"the token in the Block is not the {part}'s: write the right one with comity blocks init"
        else:
            fix = f"see the log of the {part}"
        return Link(name, False, error.happened, fix)
    except ServiceError as error:
        return Link(name, False, error.happened, f"start the {part}, or correct the Block's address ({port_setting})")
    except NoBrowserError:
        fix = "install chromium-headless-shell, or set COMITY_BROWSER, and restart the capture server"
        return Link(name, False, "its browser is not connected", fix)
    except ValueError as error:  # a CA that is none
        return Link(name, False, str(error), "correct the Block with comity blocks init")
