"""A script compiler that passes everything through, or refuses with diagnostics."""

from typing import Any

from comity.contract.scripts import sha256_of
from tests.fakes.http_server import Asked, FakeServer, Reply

DIAGNOSTICS = [
    {"file": "autoscroll.ts", "line": 4, "col": 5, "code": f"TS233{number}", "message": f"problem {number}"}
    for number in range(7)
]


class FakeCompiler(FakeServer):
    """Answers `POST /compile`; `refuse_with` diagnostics where given."""

    def __init__(self, refuse_with: list[dict[str, Any]] | None = None, *, port: int = 0) -> None:
        self.refuse_with = refuse_with
        super().__init__(self._compile, port=port)

    def _compile(self, asked: Asked) -> Reply:
        if asked.path == "/healthz":
            return Reply(body={"ok": True, "typescript": "7.0.0", "hostTypes": "1"})
        if self.refuse_with is not None:
            body = {"message": "the scripts do not pass", "typescript": "7.0.0", "diagnostics": self.refuse_with}
            return Reply(422, body, {"x-amzn-errortype": "CompileFailed"})
        scripts = []
        for script in asked.body["scripts"]:
            source = f"// compiled\n{script['source']}"
            scripts.append(script | {"source": source, "sha256": sha256_of(source)})
        return Reply(body={"typescript": "7.0.0", "hostTypes": "1", "cached": False, "scripts": scripts})
