"""A bare TCP listener: what came to it at all, and what was asked first. Answers every request with the same bytes."""

import contextlib
import socket
import ssl
import threading
from typing import Self

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nAccess-Control-Allow-Origin: *\r\n"
    b"Connection: close\r\n\r\n"
)

TLS = b"\x16"
"""How a client begins that wants TLS (RFC 8446, 5.1): there will be no line to wait for."""


class Listener:
    """`with Listener("127.0.0.9") as target:`; `connections` counts, `lines` are first lines of requests.

    With `tls` it speaks HTTP/1.1 over TLS.
    """

    def __init__(
        self, address: str, port: int = 0, *, answer: bytes = ANSWER, tls: ssl.SSLContext | None = None
    ) -> None:
        self._tls = tls
        self._answer_bytes = answer
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, port), family=family)
        self.address = address
        self.port: int = self._socket.getsockname()[1]
        self.connections = 0
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def authority(self) -> str:
        """As URLs and settings name it."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    @property
    def paths(self) -> set[str]:
        """Paths asked for."""
        return {line.split(" ")[1] for line in self.lines if line.count(" ") == 2}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def forget(self) -> None:
        """Nothing has come yet."""
        self.connections = 0
        self.lines.clear()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            if self._tls is None:
                self._talk(connection)
                return
            with self._tls.wrap_socket(connection, server_side=True) as secured:
                self._talk(secured)

    def _talk(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n" not in head and not head.startswith(TLS) and (part := connection.recv(65536)):
            head += part
        if head:
            self.lines.append(head.split(b"\r\n", 1)[0].decode("latin-1"))
        connection.sendall(self._answer_bytes)
