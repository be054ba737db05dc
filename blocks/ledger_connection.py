"""Where the ledger is."""

from typing import Self

from prefect.blocks.core import Block
from pydantic import Field, SecretStr, field_validator, model_validator

from blocks.clients.ledger import LedgerClient
from blocks.clients.tls import usable_ca
from blocks.clients.watch import WatchClient
from blocks.rules import check_ca, service_url


class LedgerConnection(Block):
    """Where the ledger is and how to speak to it. Flows read the Block named `comity`.

    Validation refuses an address that is not an http(s) URL, a CA that does not go with it, and text that is no
    certificate; each refusal names the field and the next step.
    """

    _block_type_name = "Ledger Connection"
    _block_type_slug = "ledger-connection"
    _description = "Where the ledger is: the service that decides what a crawl visits next and keeps what came of it."
    _code_example = """```python
from blocks.ledger_connection import LedgerConnection

with LedgerConnection.load("comity").client() as ledger:
    print(ledger.me().subject)
```"""

    url: str = Field(
        title="Ledger URL",
        description="Base URL of the ledger, as seen from where flow runs execute.",
        examples=["http://127.0.0.1:8700", "https://ledger.internal:8700"],
    )
    token: SecretStr = Field(
        title="Token",
        description="The flows' service token. The ledger writes it to tokens/flows in its data folder at first start.",
        examples=["the content of LEDGER_DATA/tokens/flows"],
    )
    tls_ca_pem: str = Field(
        title="TLS CA (PEM)",
        description=(
            "CA certificate that signed the ledger's certificate; the only one trusted. Empty on purpose means"
            " plaintext, and goes only with http://."
        ),
        examples=["", "-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----"],
    )

    trigger_token: SecretStr = Field(
        title="Trigger token",
        description=(
            "What trigger-crawl starts crawls with: a submitter's token. Crawls and targets are those of its first"
            " organisation. The ledger writes one for the organisation `default` to tokens/trigger."
        ),
        examples=["the content of LEDGER_DATA/tokens/trigger"],
    )

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        return service_url("url", value)

    @field_validator("tls_ca_pem")
    @classmethod
    def _is_pem(cls, value: str) -> str:
        return usable_ca("tls_ca_pem", value)

    @model_validator(mode="after")
    def _ca_fits(self) -> Self:
        check_ca("url", [self.url], self.tls_ca_pem)
        return self

    def client(self) -> LedgerClient:
        """A client for level runs. Close it, or use it as a context manager."""
        return LedgerClient(self.url, self.token.get_secret_value(), self.tls_ca_pem)

    def watch_client(self) -> WatchClient:
        """A client for watchers, with the same token. Close it, or use it as a context manager."""
        return WatchClient(self.url, self.token.get_secret_value(), self.tls_ca_pem)

    def trigger_client(self) -> LedgerClient:
        """A client for whoever starts crawls: the token of level runs may not. Raises ValueError where it is empty."""
        token = self.trigger_token.get_secret_value()
        if not token:
            raise ValueError(
                "trigger_token: is empty in the Block ledger-connection/comity, and crawls are started with it; "
                "write a submitter's token there with comity blocks init --ledger-trigger-token-file"
            )
        return LedgerClient(self.url, token, self.tls_ca_pem)
