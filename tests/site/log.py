"""The request log: what the site itself saw, with times. Verdicts on politeness are read from here."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TextIO

from tests.site.wire import Request

Kind = Literal["page", "frame", "resource", "robots"]

RESOURCE_SUFFIXES = (
    ".css", ".js", ".json", ".png", ".svg", ".jpg", ".gif", ".webp", ".ico", ".mp4", ".webm", ".woff2", ".csv", ".txt",
)  # fmt: skip


def classify(request: Request) -> Kind:
    """A page document, a framed one, a sub-resource or robots.txt.

    Browsers say which in `Sec-Fetch-Dest` (Fetch Metadata; loopback counts as trustworthy, so they send it). A client
    that says nothing is judged by what it asks for.
    """
    if request.path == "/robots.txt" or request.path.startswith("/robots-hop/"):
        return "robots"
    wanted = request.headers.get("sec-fetch-dest")
    if wanted is not None:
        return {"document": "page", "iframe": "frame", "frame": "frame"}.get(wanted, "resource")  # type: ignore[return-value]
    if request.method not in ("GET", "HEAD") or request.path.endswith(RESOURCE_SUFFIXES):
        return "resource"
    return "page"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One request. `*_s` are monotonic seconds (one clock for all processes of a machine), `*_at` aware UTC."""

    number: int
    host: str
    host_index: int
    method: str
    path: str
    """With its query, as asked."""
    kind: Kind
    started_at: datetime
    started_s: float
    headers: Mapping[str, str] = field(default_factory=dict)
    body_text: str = ""
    """What the client sent (POST), undecodable bytes replaced."""
    finished_at: datetime | None = None
    """When the last byte was handed over, or the other side was found gone; None while it lasts."""
    finished_s: float | None = None
    status: int | None = None
    """None: no status line was ever sent."""
    bytes_sent: int = 0
    """Body bytes, as encoded."""
    location: str | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"

    @property
    def bare_path(self) -> str:
        return self.path.partition("?")[0]

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=datetime.isoformat, ensure_ascii=False)

    @staticmethod
    def from_json(line: str) -> "LogEntry":
        facts = json.loads(line)
        for name in ("started_at", "finished_at"):
            facts[name] = datetime.fromisoformat(facts[name]) if facts[name] else None
        return LogEntry(**facts)


class RequestLog:
    """Thread-safe: the server writes in its own thread, tests read in theirs."""

    def __init__(self, sink: TextIO | None = None) -> None:
        self._entries: dict[int, LogEntry] = {}
        self._changed = threading.Condition()
        self._sink = sink
        self._next = 0

    def begin(self, request: Request) -> LogEntry:
        with self._changed:
            entry = LogEntry(
                number=self._next,
                host=request.authority,
                host_index=request.host_index,
                method=request.method,
                path=request.target,
                kind=classify(request),
                started_at=datetime.now(UTC),
                started_s=time.monotonic(),
                headers=dict(request.headers),
                body_text=request.body.decode(errors="replace"),
            )
            self._next += 1
            self._entries[entry.number] = entry
            self._changed.notify_all()
            return entry

    def finish(self, number: int, *, status: int | None, bytes_sent: int, location: str | None) -> None:
        with self._changed:
            known = self._entries.get(number)
            if known is None:  # forgotten by clear() while it was under way
                return
            entry = replace(
                known,
                finished_at=datetime.now(UTC),
                finished_s=time.monotonic(),
                status=status,
                bytes_sent=bytes_sent,
                location=location,
            )
            self._entries[number] = entry
            if self._sink is not None:
                self._sink.write(entry.to_json() + "\n")
                self._sink.flush()
            self._changed.notify_all()

    def entries(self) -> tuple[LogEntry, ...]:
        """In the order in which they began, those still under way included."""
        with self._changed:
            return tuple(self._entries.values())

    def clear(self) -> None:
        with self._changed:
            self._entries.clear()

    def wait_until(self, holds: Callable[[tuple[LogEntry, ...]], bool], within_s: float) -> bool:
        """True as soon as `holds(entries)`, False once `within_s` passed without."""
        with self._changed:
            return self._changed.wait_for(lambda: holds(tuple(self._entries.values())), within_s)


def read_log(path: Path) -> tuple[LogEntry, ...]:
    """The log that `python -m tests.site --log FILE` wrote, in the order in which the requests began."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(sorted((LogEntry.from_json(line) for line in lines if line), key=lambda entry: entry.started_s))
