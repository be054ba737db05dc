"""What the capture server reads from its environment, once, at startup. Half-configured: it refuses to start."""

import ipaddress
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from comity.contract.capture import CAPTURE_BUDGET_MS, ContentTypePolicy, UrlPolicy, WebUrl
from comity.polite.rules.addresses import ALLOW_SETTING, DENY_SETTING, egress_rules

MIB = 1024 * 1024
WRITES_SHARE_MS = 10_000
"""Of the capture's budget, what is kept for writing artifacts after the page is done."""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its literal address or as `localhost`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Settings(BaseSettings):
    """Environment variables `CAPTURE_…`, and `COMITY_BROWSER`. Sizes in bytes, times in milliseconds."""

    model_config = SettingsConfigDict(env_prefix="CAPTURE_", extra="ignore", frozen=True, populate_by_name=True)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    store: Path | None = None
    """The folder for artifacts; None: the bucket that `COMITY_S3_BUCKET` names."""
    store_silence_ms: Annotated[int, Field(ge=100, le=15_000)] = 15_000
    """How long the bucket may leave a request unanswered; the third time ends the capture as `artifact_sink`."""
    token: SecretStr = SecretStr("")
    tls_cert: Path | None = None
    tls_key: Path | None = None
    browser: Annotated[str | None, Field(validation_alias="COMITY_BROWSER")] = None
    allow_private: Annotated[str, Field(validation_alias=ALLOW_SETTING)] = ""
    """What else may be visited than the public web: `host:port`, addresses and ranges, separated by commas."""
    deny: Annotated[str, Field(validation_alias=DENY_SETTING)] = ""
    """What is never visited, whatever is allowed: the endpoints of this deployment."""

    max_response_bytes: Annotated[int, Field(ge=1)] = 64 * MIB
    max_task_bytes: Annotated[int, Field(ge=1)] = 512 * MIB
    max_pending_requests: Annotated[int, Field(ge=1)] = 1000
    url_policies: list[UrlPolicy] = []
    content_type_policies: list[ContentTypePolicy] = []

    shared_session: bool = False
    """Whether requests may ask for `session: shared`: only where all callers belong together."""

    sink_prefixes: list[WebUrl] = []
    """A request's `artifactSink.url` must lie below one of these."""
    sink_silence_ms: Annotated[int, Field(ge=100, le=15_000)] = 15_000
    """How long a sink may say nothing; the third such silence ends the capture as `artifact_sink`."""
    sink_tls_ca: Path | None = None
    """Certificates (PEM) that sinks are verified by; None: the system's."""

    budget_ms: Annotated[int, Field(ge=1000, le=CAPTURE_BUDGET_MS)] = CAPTURE_BUDGET_MS
    navigation_ms: Annotated[int, Field(ge=100)] = 45_000
    """From asking for the page to its first byte."""
    load_ms: Annotated[int, Field(ge=100)] = 30_000
    """From the first byte to the load event; what hangs longer is captured as it stands."""
    step_ms: Annotated[int, Field(ge=100)] = 15_000
    """Each single thing asked of the page."""
    behaviors_ms: Annotated[int, Field(ge=100)] = 30_000
    """All behaviors of one page load together."""
    recycle_captures: Annotated[int, Field(ge=1)] = 100
    """The browser is replaced after so many captures: a hundred made it grow by a quarter."""
    recycle_age_ms: Annotated[int, Field(ge=1000)] = 3_600_000

    @property
    def loopback(self) -> bool:
        """Whether the server can be reached from this machine alone."""
        return is_loopback(self.host)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            missing = "CAPTURE_TLS_CERT" if self.tls_cert is None else "CAPTURE_TLS_KEY"
            raise ValueError(f"TLS needs certificate and key: set {missing} too")
        for name, path in (
            ("CAPTURE_TLS_CERT", self.tls_cert),
            ("CAPTURE_TLS_KEY", self.tls_key),
            ("CAPTURE_SINK_TLS_CA", self.sink_tls_ca),
        ):
            if path is not None and not path.is_file():
                raise ValueError(f"{name}={path} is not a file")
        if not self.loopback:
            if self.tls_cert is None:
                raise ValueError(
                    f"CAPTURE_HOST={self.host} is beyond loopback: set CAPTURE_TLS_CERT and CAPTURE_TLS_KEY, "
                    "or listen on 127.0.0.1"
                )
            if not self.token.get_secret_value():
                raise ValueError(
                    f"CAPTURE_HOST={self.host} is beyond loopback: set CAPTURE_TOKEN, or listen on 127.0.0.1"
                )
        egress_rules(self.allow_private, self.deny)  # its message names setting and entry
        for prefix in self.sink_prefixes:
            parts = urlsplit(prefix)
            if parts.query or parts.fragment or parts.username is not None:
                raise ValueError(f"CAPTURE_SINK_PREFIXES: {prefix} has a query, a fragment or a user; leave them out")
            if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
                raise ValueError(f"CAPTURE_SINK_PREFIXES: {prefix} is beyond loopback: tokens go there only by https")
        if self.max_response_bytes > self.max_task_bytes:
            raise ValueError("CAPTURE_MAX_RESPONSE_BYTES must not be over CAPTURE_MAX_TASK_BYTES")
        return self
