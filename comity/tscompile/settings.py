"""Settings of the script compiler, read once at startup. Every name begins with `TSCOMPILE_`."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from comity.contract.web_address import is_loopback

MIB = 1024 * 1024


class Settings(BaseSettings):
    """Where to listen, whom to serve, which compiler, and its limits. Raises ValidationError naming the setting."""

    model_config = SettingsConfigDict(env_prefix="TSCOMPILE_", env_ignore_empty=True, frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """0 takes a free one; the first line on stdout tells which."""
    token: SecretStr = SecretStr("")
    """Bearer token that `POST /compile` asks for; empty asks for none, which is only for loopback."""
    tls_cert: Path | None = None
    tls_key: Path | None = None

    tsc: Path | None = None
    """TypeScript 7's native `tsc`; its `lib.*.d.ts` lie beside it. Default: the checkout's node_modules, then PATH."""
    cache: Path | None = None
    """Folder that keeps results over restarts. Default: in memory alone."""

    check_timeout_ms: Annotated[int, Field(ge=100, le=120_000)] = 20_000
    """One check may take this long; a usual one takes 0.1 s."""
    max_concurrent_checks: Annotated[int, Field(ge=1, le=64)] = 2
    max_wait_ms: Annotated[int, Field(ge=0, le=600_000)] = 30_000
    """How long a call waits for a free place before it is told `Busy`."""
    max_memory_bytes: Annotated[int, Field(ge=128 * MIB)] = 1024 * MIB
    """Private memory of one check; a usual one takes 68 MB."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 8 * MIB
    """A crawl's scripts are at most 1 MiB together; the rest is JSON escaping and options."""
    max_output_bytes: Annotated[int, Field(ge=1024)] = 16 * MIB
    """JavaScript of one check."""
    max_cached_results: Annotated[int, Field(ge=0, le=100_000)] = 256
    """In memory and, where there is a folder, in it."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("TSCOMPILE_TLS_CERT and TSCOMPILE_TLS_KEY go together: set both, or neither")
        for name, path in (("TSCOMPILE_TLS_CERT", self.tls_cert), ("TSCOMPILE_TLS_KEY", self.tls_key)):
            if path is not None and not path.is_file():
                raise ValueError(f"{name}={path} is not a file")
        if not is_loopback(self.host):
            if self.tls_cert is None:
                raise ValueError(
                    f"TSCOMPILE_HOST={self.host} is beyond loopback: set TSCOMPILE_TLS_CERT and TSCOMPILE_TLS_KEY too"
                )
            if not self.token.get_secret_value():
                raise ValueError(f"TSCOMPILE_HOST={self.host} is beyond loopback: set TSCOMPILE_TOKEN too")
        return self
