"""Settings of a worker, read once at its start. Every name begins with `COMITY_WATCH_`."""

import os
import socket
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import uuid4

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from comity.contract.watch import MAX_CONTENT_BYTES
from comity.contract.watch_queue import MAX_BODY_BYTES, MAX_LEASE_MS, MAX_WAIT_MS, MIN_LEASE_MS
from comity.polite.client import DEFAULT_USER_AGENT, check_user_agent
from comity.polite.egress import rules_of
from comity.polite.rules.proxies import proxies_of
from comity.polite.trust import trust_of
from comity.watch.building import Plan
from comity.watch.errors import WorkerHalted
from comity.watch.rules.named_proxies import named_proxies
from comity.watch.rules.settings import DEFAULT_KEPT_BYTES
from comity.watch.tracing import TraceSettings
from comity.watch.visit_settings import VisitSettings
from comity.watch.worker import WorkerSettings

PREFIX = "COMITY_WATCH_"
OLD_CANARIES = f"{PREFIX}CANARIES"
"""The ledger has them all, and gives each page's with the claim."""
LEASE_SLACK_MS = 10_000
"""A lease outlasts a fetch and its report."""


class Settings(BaseSettings):
    """How much a worker does at once, how it fetches, what it keeps and tells. Raises ValidationError."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    concurrency: Annotated[int, Field(ge=1, le=2_000)] = 64
    """Pages in hand at once; most of them wait for their hosts."""
    lease_ms: Annotated[int, Field(ge=MIN_LEASE_MS, le=MAX_LEASE_MS)] = 120_000
    report_every_ms: Annotated[int, Field(ge=10, le=30_000)] = 2_000
    user_agent: str = ""
    """Empty: that of everything of ours that asks sites."""
    connect_ms: Annotated[int, Field(ge=100, le=60_000)] = 5_000
    first_byte_ms: Annotated[int, Field(ge=100, le=120_000)] = 15_000
    total_ms: Annotated[int, Field(ge=100, le=300_000)] = 30_000
    max_body_bytes: Annotated[int, Field(ge=1_000, le=MAX_BODY_BYTES)] = 4 * 2**20
    kept_bytes: Annotated[int, Field(ge=1_000, le=MAX_CONTENT_BYTES)] = DEFAULT_KEPT_BYTES
    learn_fetches: bool = True
    learn_after_ms: Annotated[int, Field(ge=0, le=MAX_WAIT_MS)] = 2_000
    proxies: str = ""
    """Those that pages may name, as JSON."""
    traces_endpoint: str = ""
    traces_sampled: Annotated[float, Field(ge=0, le=1)] = 0.01
    traces_slow_ms: Annotated[int, Field(ge=1)] = 10_000

    @field_validator("user_agent")
    @classmethod
    def _can_be_addressed(cls, value: str) -> str:
        if value:
            check_user_agent(value)
        return value

    @field_validator("proxies")
    @classmethod
    def _are_proxies(cls, value: str) -> str:
        named_proxies(value)
        return value

    @field_validator("traces_endpoint")
    @classmethod
    def _is_a_collector(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must be an OTLP/HTTP collector's URL for traces, such as http://127.0.0.1:4318/v1/traces")
        return value

    def plan(self, environment: Mapping[str, str], *, dry_run: bool = False, rehearsal_ms: int = 1_000) -> Plan:
        """A worker of this process. Raises ValueError naming a setting of the way out that cannot be used."""
        return Plan(
            name=worker_name(),
            egress=rules_of(environment),
            proxies=proxies_of(environment),
            named_proxies=named_proxies(self.proxies),
            trust=trust_of(environment),
            user_agent=self.user_agent or DEFAULT_USER_AGENT,
            worker=WorkerSettings(
                concurrency=self.concurrency,
                lease_ms=max(self.lease_ms, self.total_ms + LEASE_SLACK_MS),
                report_every_ms=self.report_every_ms,
                dry_run=dry_run,
                rehearsal_ms=rehearsal_ms,
            ),
            visits=VisitSettings(
                connect_ms=self.connect_ms,
                first_byte_ms=self.first_byte_ms,
                total_ms=self.total_ms,
                max_body_bytes=self.max_body_bytes,
                kept_bytes=self.kept_bytes,
                learn_fetches=self.learn_fetches,
                learn_after_ms=self.learn_after_ms,
            ),
            tracing=TraceSettings(self.traces_endpoint, self.traces_sampled, self.traces_slow_ms),
        )


def read_settings(**overrides: Any) -> Settings:
    """From the environment. Raises WorkerHalted naming the setting that is wrong, or is no more."""
    if os.environ.get(OLD_CANARIES):
        raise WorkerHalted(
            f"{OLD_CANARIES}: is read no longer; unset it, and give the ledger in LEDGER_WATCH_CANARIES what it had, "
            'as `visit` of each canary: {"patient": {"visit": {"firstByteMs": 60000}}}'
        )
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "_".join(str(part) for part in first["loc"]).upper()
        said = str(first["msg"]).removeprefix("Value error, ")
        raise WorkerHalted(f"{PREFIX}{name}: {said}") from None


def plan_of(settings: Settings, *, dry_run: bool = False, rehearsal_ms: int = 1_000) -> Plan:
    """The plan, with this process's environment. Raises WorkerHalted naming the setting that is wrong."""
    try:
        return settings.plan(os.environ, dry_run=dry_run, rehearsal_ms=rehearsal_ms)
    except ValueError as error:
        raise WorkerHalted(str(error)) from None


def worker_name() -> str:
    """One process, and never another: visits of one worker are compared on its own clock."""
    host = "".join(one if one.isascii() and (one.isalnum() or one in ".-") else "-" for one in socket.gethostname())
    return f"{host[:24].strip('.-') or 'host'}.{os.getpid()}.{uuid4().hex[:12]}"
