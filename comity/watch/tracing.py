"""One trace for each page: its steps, told when the page is done and only where somebody will look at them.

Steps are timed always, which costs next to nothing; spans are made of them when the page is over, for a share of all
pages and for every page that failed, took long or is a canary. That could not be known at the beginning.
"""

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

SERVICE = "comity-watch"
Value = str | int | float | bool
EXPORT_TIMEOUT_S = 5


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """`endpoint`: an OTLP/HTTP collector's traces URL; empty switches tracing off."""

    endpoint: str = ""
    sampled: float = 0.01
    slow_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class Step:
    """A child span. Times are nanoseconds since 1970."""

    name: str
    began_ns: int
    ended_ns: int
    facts: dict[str, Value]


@dataclass(slots=True)
class PageTrace:
    """The steps of one visit."""

    began_ns: int = field(default_factory=time.time_ns)
    steps: list[Step] = field(default_factory=list)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[dict[str, Value]]:
        """Times what is inside; what is put into the dict is told with it."""
        facts: dict[str, Value] = {}
        began_ns = time.time_ns()
        try:
            yield facts
        finally:
            self.steps.append(Step(name, began_ns, time.time_ns(), facts))


class Tracer:
    """Keeps or drops finished traces. `off()` drops all."""

    def __init__(
        self, provider: "TracerProvider | None", settings: TraceSettings, chance: Callable[[], float] = random.random
    ) -> None:
        self._provider = provider
        self._settings = settings
        self._chance = chance

    @classmethod
    def off(cls) -> "Tracer":
        return cls(None, TraceSettings())

    def finish(self, trace: PageTrace, facts: dict[str, Value], *, failed: bool, canary: bool, waited_ms: int) -> None:
        """The page is over. `waited_ms` of it were politeness and make no page slow."""
        if self._provider is None:
            return
        ended_ns = time.time_ns()
        slow = (ended_ns - trace.began_ns) / 1e6 - waited_ms >= self._settings.slow_ms
        if not (failed or canary or slow or self._chance() < self._settings.sampled):
            return
        self._tell(self._provider, trace, ended_ns, facts | {"comity.slow": slow}, failed=failed)

    @staticmethod
    def _tell(
        provider: "TracerProvider", trace: PageTrace, ended_ns: int, facts: dict[str, Value], *, failed: bool
    ) -> None:
        from opentelemetry import trace as api  # noqa: PLC0415 - 0.2 s that a worker without tracing does not need

        tracer = provider.get_tracer("comity.watch")
        page = tracer.start_span("page", start_time=trace.began_ns, attributes=facts, kind=api.SpanKind.CONSUMER)
        inside = api.set_span_in_context(page)
        for step in trace.steps:
            child = tracer.start_span(step.name, context=inside, start_time=step.began_ns, attributes=step.facts)
            child.end(step.ended_ns)
        if failed:
            page.set_status(api.StatusCode.ERROR)
        page.end(ended_ns)

    def close(self) -> None:
        """Send what is left, for a few seconds at most."""
        if self._provider is not None:
            self._provider.force_flush(EXPORT_TIMEOUT_S * 1000)
            self._provider.shutdown()


def tracer_of(settings: TraceSettings, *, worker: str) -> Tracer:
    """Exports in the background to the collector that the settings name."""
    if not settings.endpoint:
        return Tracer.off()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - see above
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - see above

    # Without its own atexit hook: who made it closes it, within a budget.
    provider = TracerProvider(
        resource=Resource.create({"service.name": SERVICE, "service.instance.id": worker}), shutdown_on_exit=False
    )
    exporter = OTLPSpanExporter(endpoint=settings.endpoint, timeout=EXPORT_TIMEOUT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=2_000))
    return Tracer(provider, settings)
