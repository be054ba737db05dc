"""Where the object store is, read once at startup from `COMITY_S3_*`, the names that capture servers read too."""

from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from comity.contract.web_address import is_loopback
from ledger.errors import SettingsRefused


class S3Settings(BaseSettings):
    """A bucket, or none where `bucket` is not given. Raises ValueError for half of one."""

    model_config = SettingsConfigDict(env_prefix="COMITY_S3_", env_ignore_empty=True, frozen=True, extra="ignore")

    endpoint: str | None = None
    """The store's address; None: the provider's own for the region."""
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]$")] | None = None
    region: Annotated[str, Field(pattern=r"^[a-z0-9\-]{1,64}$")] = "us-east-1"
    access_key_id: SecretStr = SecretStr("")
    secret_access_key: SecretStr = SecretStr("")
    ca_pem_file: Path | None = None

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.bucket is None:
            given = min(self.model_fields_set, default=None)
            if given is not None:
                raise ValueError(f"COMITY_S3_{given.upper()} is set, COMITY_S3_BUCKET is not: set both, or neither")
            return self
        for name in ("access_key_id", "secret_access_key"):
            if not getattr(self, name).get_secret_value():
                raise ValueError(f"COMITY_S3_{name.upper()}: is not set; the bucket needs it")
        self._check_endpoint()
        if self.ca_pem_file is not None and not self.ca_pem_file.is_file():
            raise ValueError(f"COMITY_S3_CA_PEM_FILE: {self.ca_pem_file} is no file")
        return self

    def _check_endpoint(self) -> None:
        if self.endpoint is None:
            return
        parts = urlsplit(self.endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("COMITY_S3_ENDPOINT: must be a URL that begins with http:// or https://")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ValueError("COMITY_S3_ENDPOINT: beyond loopback it must be https://, for keys sign what is sent")

    @property
    def plain_http(self) -> bool:
        """Whether the endpoint is http://, which only a loopback one may be."""
        return (self.endpoint or "").startswith("http://")

    @property
    def ca_pem(self) -> str | None:
        """Certificates that the endpoint is verified by, beside the system's."""
        return self.ca_pem_file.read_text("utf-8") if self.ca_pem_file is not None else None


def read_s3_settings() -> S3Settings:
    """The settings of this process. Raises SettingsRefused naming what is wrong."""
    try:
        return S3Settings()
    except ValidationError as error:
        raise SettingsRefused("\n".join(_said(problem) for problem in error.errors(include_input=False))) from None
    except OSError as error:
        raise SettingsRefused(f"COMITY_S3_CA_PEM_FILE: cannot be read: {error}") from None


def _said(problem: ErrorDetails) -> str:
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"COMITY_S3_{str(problem['loc'][0]).upper()}: {message}" if problem["loc"] else message
