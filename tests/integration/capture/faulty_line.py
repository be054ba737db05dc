"""A TCP line to a server that fails as lines do: it stalls, or it breaks, after so many bytes of the client's."""

import contextlib
import socket
import ssl
import threading
from typing import Literal, Self

Fault = Literal["stall", "break"]


class FaultyLine:
    """`with FaultyLine("127.0.0.1", 80) as line:` forwards what comes to `line.port`.

    `fail(fault, after_bytes)` sets the fault, for all connections together; `heal()` takes it away. With `tls` it is
    the server's end of TLS too.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._to = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._fault: Fault | None = None
        self._left = 0
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.struck = threading.Event()
        """Set once the fault has shown."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for end in self._open:
                _shut(end)

    def fail(self, fault: Fault, *, after_bytes: int) -> None:
        """From now on."""
        with self._lock:
            self._fault, self._left = fault, after_bytes
        self.struck.clear()

    def heal(self) -> None:
        """All is well again, for connections that still stand and for new ones."""
        with self._lock:
            self._fault = None

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._tls is not None:
                    near = self._tls.wrap_socket(near, server_side=True)
                far = socket.create_connection(self._to, timeout=60)
            except OSError:  # a client that does not trust us
                _shut(near)
                continue
            with self._lock:
                self._open |= {near, far}
            for source, sink, counts in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._pump, args=(source, sink, counts), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if counts and self._strikes(len(data)):
                    break
                sink.sendall(data)
        _shut(source)
        _shut(sink)

    def _strikes(self, size: int) -> bool:
        """True: the connection is to be broken. A stall lasts until the fault is taken away."""
        while not self._ended.is_set():
            with self._lock:
                if self._fault is None:
                    return False
                self._left -= size
                if self._left >= 0:
                    return False
                fault = self._fault
            self.struck.set()
            if fault == "break":
                return True
            self._ended.wait(0.05)
        return True


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
