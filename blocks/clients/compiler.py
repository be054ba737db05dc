"""The script compiler as typed calls."""

import httpx

from blocks.clients.errors import CompileRejected, ServiceRefused
from blocks.clients.service import ServiceClient, json_of
from comity.contract.compiler import CompileAnswer, CompileFailed, CompileRequest, CompilerHealth

COMPILE_TIMEOUT_MS = 120_000
"""A cold check of a hundred scripts on a busy machine; the compiler's own limit is shorter and speaks first."""


class CompilerClient(ServiceClient):
    """The script compiler at `url`. Every method raises a ServiceError where it fails."""

    part = "script compiler"

    def __init__(self, url: str, token: str, tls_ca_pem: str, *, timeout_ms: int = COMPILE_TIMEOUT_MS) -> None:
        super().__init__(url, token, tls_ca_pem, timeout_ms=timeout_ms)

    def health(self) -> CompilerHealth:
        """`GET /healthz`: which TypeScript and which host types."""
        return self.ask(CompilerHealth, "GET", "/healthz", timeout_ms=10_000)

    def compile(self, wanted: CompileRequest) -> CompileAnswer:
        """`POST /compile`. Raises CompileRejected with the diagnostics where any script fails the check."""
        return self.ask(CompileAnswer, "POST", "/compile", body=wanted)

    def refusal(self, call: str, response: httpx.Response) -> ServiceRefused:
        """422 carries diagnostics."""
        body = json_of(response)
        if response.status_code == 422 and isinstance(body, dict) and "diagnostics" in body:
            failed = self.read(call, lambda: CompileFailed.model_validate(body))
            return CompileRejected(self.part, self.url, call=call, failed=failed, body=body)
        return super().refusal(call, response)
