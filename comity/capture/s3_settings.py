"""Where the bucket is and what opens it. The ledger reads the same names. Half-configured: no start."""

from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from comity.capture.settings import is_loopback
from comity.contract.capture import WebUrl

PREFIX = "COMITY_S3_"


class S3Settings(BaseSettings):
    """Environment variables `COMITY_S3_…`. With none of them set there is no bucket."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True)

    endpoint: WebUrl | None = None
    """The store's address; None: the provider's own for the region."""
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]$")] | None = None
    region: Annotated[str, Field(pattern=r"^[a-z0-9\-]{1,64}$")] = "us-east-1"
    access_key_id: Annotated[str, Field(min_length=1)] | None = None
    secret_access_key: SecretStr = SecretStr("")
    ca_pem_file: Path | None = None
    """Certificates that the store is verified by, besides the system's."""

    @property
    def plain(self) -> bool:
        """Whether it is spoken to without TLS."""
        return self.endpoint is not None and urlsplit(self.endpoint).scheme == "http"

    @property
    def address(self) -> str:
        """The endpoint, the provider's own where none is set."""
        return self.endpoint or f"https://s3.{self.region}.amazonaws.com"

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.bucket is None:
            given = next((name for name in sorted(self.model_fields_set)), None)
            if given is not None:
                raise ValueError(f"{PREFIX}{given.upper()} is set, {PREFIX}BUCKET is not: set both, or neither")
            return self
        for name, value in (
            ("ACCESS_KEY_ID", self.access_key_id),
            ("SECRET_ACCESS_KEY", self.secret_access_key.get_secret_value()),
        ):
            if not value:
                raise ValueError(f"{PREFIX}BUCKET={self.bucket} needs a key: set {PREFIX}{name}")
        if self.ca_pem_file is not None and not self.ca_pem_file.is_file():
            raise ValueError(f"{PREFIX}CA_PEM_FILE={self.ca_pem_file} is not a file")
        self._check_address()
        return self

    def _check_address(self) -> None:
        parts = urlsplit(self.address)
        if parts.query or parts.fragment or parts.username is not None or parts.path.strip("/"):
            raise ValueError(f"{PREFIX}ENDPOINT={self.endpoint} is more than scheme, host and port: leave the rest out")
        if self.plain and not is_loopback(parts.hostname or ""):
            raise ValueError(f"{PREFIX}ENDPOINT={self.endpoint} is beyond loopback: archives go there only by https")
