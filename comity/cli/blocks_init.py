"""`comity blocks init`: the three Blocks named `comity`, created or updated from flags, then the environment.

Prefect is imported only when the Blocks are written: which server they go to is Prefect's own setting
(`PREFECT_API_URL`).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from comity.cli.errors import BadInput, CliError


@dataclass(frozen=True)
class BlockSettings:
    """Where the services are. A token file or CA file of None is an empty field, written on purpose."""

    ledger_url: str
    ledger_token_file: Path | None
    ledger_trigger_token_file: Path | None
    ledger_ca_file: Path | None
    capture_urls: tuple[str, ...]
    capture_token_file: Path | None
    capture_ca_file: Path | None
    slots_per_endpoint: int
    compiler_url: str
    compiler_token_file: Path | None
    compiler_ca_file: Path | None

    @classmethod
    def resolve(cls, flags: Mapping[str, str | None], environment: Mapping[str, str] | None = None) -> "BlockSettings":
        """From flags by name (`ledger-url`), then variables (`COMITY_LEDGER_URL`).

        Raises BadInput naming flag and variable for what neither gives. Token files must be given, empty for a service
        without a token; CA files may be left out, which the Blocks accept for http:// alone.
        """
        variables = os.environ if environment is None else environment

        def given(name: str, default: str | None = None) -> str:
            flag, variable = flags.get(name), f"COMITY_{name.replace('-', '_').upper()}"
            value = variables.get(variable, default) if flag is None else flag
            if value is None:
                empty = ' (write "" for a service without a token)' if name.endswith("token-file") else ""
                raise BadInput(f"--{name}: give it, or set {variable}{empty}")
            return value.strip()

        def file(name: str, default: str | None = None) -> Path | None:
            text = given(name, default)
            return Path(text).expanduser() if text else None

        slots = given("slots-per-endpoint", "1")
        if not slots.isdecimal() or int(slots) < 1:
            raise BadInput(f"--slots-per-endpoint {slots}: write a whole number from 1 on")
        return cls(
            ledger_url=given("ledger-url"),
            ledger_token_file=file("ledger-token-file"),
            ledger_trigger_token_file=file("ledger-trigger-token-file"),
            ledger_ca_file=file("ledger-ca-file", ""),
            capture_urls=tuple(url.strip() for url in given("capture-urls").split(",") if url.strip()),
            capture_token_file=file("capture-token-file"),
            capture_ca_file=file("capture-ca-file", ""),
            slots_per_endpoint=int(slots),
            compiler_url=given("compiler-url"),
            compiler_token_file=file("compiler-token-file"),
            compiler_ca_file=file("compiler-ca-file", ""),
        )


def keep_blocks(settings: BlockSettings) -> list[str]:
    """Creates or updates the Blocks; returns one line for each.

    Raises BadInput for values that a Block refuses, CliError where the Prefect API cannot be reached.
    """
    import httpx
    from prefect.exceptions import PrefectException
    from pydantic import ValidationError

    from blocks.init import BlockValues, init_blocks

    values = BlockValues(
        ledger_url=settings.ledger_url,
        ledger_token=_text("ledger-token-file", settings.ledger_token_file),
        ledger_trigger_token=_text("ledger-trigger-token-file", settings.ledger_trigger_token_file),
        ledger_tls_ca_pem=_text("ledger-ca-file", settings.ledger_ca_file),
        capture_urls=settings.capture_urls,
        capture_token=_text("capture-token-file", settings.capture_token_file),
        capture_tls_ca_pem=_text("capture-ca-file", settings.capture_ca_file),
        compiler_url=settings.compiler_url,
        compiler_token=_text("compiler-token-file", settings.compiler_token_file),
        compiler_tls_ca_pem=_text("compiler-ca-file", settings.compiler_ca_file),
        slots_per_endpoint=settings.slots_per_endpoint,
    )
    try:
        return [f"{saved.slug} {saved.action}" for saved in init_blocks(values)]
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise BadInput(f"{error.title}: {problem['msg'].removeprefix('Value error, ')}") from None
    except (PrefectException, httpx.HTTPError, OSError) as error:
        said = " ".join(str(error).split())
        raise CliError(
            f"the Blocks could not be saved: {said}; check PREFECT_API_URL and that its server runs"
        ) from None


def _text(flag: str, path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text().strip()
    except OSError as error:
        raise BadInput(f"--{flag} {path}: cannot be read ({error.strerror})") from None
