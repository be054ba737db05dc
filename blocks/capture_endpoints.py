"""Where the capture servers are."""

from typing import Self

from prefect.blocks.core import Block
from pydantic import Field, SecretStr, field_validator, model_validator

from blocks.clients.capture import CaptureClient
from blocks.clients.tls import usable_ca
from blocks.rules import check_ca, service_urls


class CaptureEndpoints(Block):
    """The capture servers, one browser each. Flows read the Block named `comity`.

    Validation refuses an empty list, an address that is not an http(s) URL or stands there twice, and a CA that does
    not go with the addresses; each refusal names the field and the next step.
    """

    _block_type_name = "Capture Endpoints"
    _block_type_slug = "capture-endpoints"
    _description = "The capture servers: each holds one browser and captures one page at a time."
    _code_example = """```python
from blocks.capture_endpoints import CaptureEndpoints

for server in CaptureEndpoints.load("comity").clients():
    print(server.url, server.status().busy)
```"""

    urls: list[str] = Field(
        title="Server URLs",
        description="Base URL of every capture server, as seen from where flow runs execute. All http:// or all https://.",
        examples=[["http://127.0.0.1:8711", "http://127.0.0.1:8712"]],
    )
    token: SecretStr = Field(
        title="Token",
        description="Their CAPTURE_TOKEN, the same for all. Empty on purpose where they ask for none (loopback only).",
        examples=[""],
    )
    tls_ca_pem: str = Field(
        title="TLS CA (PEM)",
        description=(
            "CA certificate that signed the servers' certificates; the only one trusted. Empty on purpose means"
            " plaintext, and goes only with http://."
        ),
        examples=["", "-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----"],
    )
    slots_per_endpoint: int = Field(
        default=1,
        ge=1,
        le=64,
        title="Slots per server",
        description=(
            "How many captures one URL takes at once: 1 for a capture server, more where one URL stands for several"
            " servers behind a load balancer. Parallel hosts never exceed URLs x slots."
        ),
        examples=[1],
    )

    @field_validator("urls")
    @classmethod
    def _are_urls(cls, value: list[str]) -> list[str]:
        return service_urls("urls", value)

    @field_validator("tls_ca_pem")
    @classmethod
    def _is_pem(cls, value: str) -> str:
        return usable_ca("tls_ca_pem", value)

    @model_validator(mode="after")
    def _ca_fits(self) -> Self:
        check_ca("urls", self.urls, self.tls_ca_pem)
        return self

    @property
    def slots(self) -> int:
        """How many captures all servers together take at once."""
        return len(self.urls) * self.slots_per_endpoint

    def clients(self) -> tuple[CaptureClient, ...]:
        """One client per server, in the order of `urls`. Close each."""
        token = self.token.get_secret_value()
        return tuple(CaptureClient(url, token, self.tls_ca_pem) for url in self.urls)
