"""Where the script compiler is."""

from typing import Self

from prefect.blocks.core import Block
from pydantic import Field, SecretStr, field_validator, model_validator

from blocks.clients.compiler import CompilerClient
from blocks.clients.tls import usable_ca
from blocks.rules import check_ca, service_url


class ScriptCompiler(Block):
    """Where the script compiler is. Flows read the Block named `comity`. Validation as in `LedgerConnection`."""

    _block_type_name = "Script Compiler"
    _block_type_slug = "script-compiler"
    _description = "Where the script compiler is: it type-checks the scripts that run inside pages, before any page."
    _code_example = """```python
from blocks.script_compiler import ScriptCompiler

with ScriptCompiler.load("comity").client() as compiler:
    print(compiler.health().typescript)
```"""

    url: str = Field(
        title="Compiler URL",
        description="Base URL of the script compiler, as seen from where flow runs execute.",
        examples=["http://127.0.0.1:8720", "https://compiler.internal:8720"],
    )
    token: SecretStr = Field(
        title="Token",
        description="Its TSCOMPILE_TOKEN. Empty on purpose where it asks for none (loopback only).",
        examples=[""],
    )
    tls_ca_pem: str = Field(
        title="TLS CA (PEM)",
        description=(
            "CA certificate that signed the compiler's certificate; the only one trusted. Empty on purpose means"
            " plaintext, and goes only with http://."
        ),
        examples=["", "-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----"],
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

    def client(self) -> CompilerClient:
        """A client for this compiler. Close it, or use it as a context manager."""
        return CompilerClient(self.url, self.token.get_secret_value(), self.tls_ca_pem)
