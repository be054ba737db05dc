"""Settings of the ledger, read once at startup from `LEDGER_*`. Half-configured, it does not start."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from comity.contract.capture import CaptureFormats
from comity.contract.web_address import is_loopback
from ledger.errors import SettingsRefused
from ledger.rules.apprise_services import PUBLIC_SERVICES
from ledger.rules.liveness import Limits
from ledger.rules.service_urls import keeps_secrets
from ledger.rules.watch_due import Bounds
from ledger.rules.watch_pages import page_overrides, visit_overrides, why_not_these_overrides
from ledger.services.oidc import OidcTerms
from ledger.services.watch_terms import WatchTerms

Seconds = Annotated[float, Field(gt=0, le=7 * 86_400)]


def _absolute(value: Path) -> Path:
    if not value.is_absolute():
        raise ValueError("must be an absolute path")
    return value


def _base_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL that begins with http:// or https://")
    if parts.username is not None:
        raise ValueError("must not carry credentials; they go into LEDGER_PREFECT_AUTH_STRING")
    return value.rstrip("/")


def _deployment(value: str) -> str:
    flow, slash, deployment = value.partition("/")
    if not (flow and slash and deployment) or "/" in deployment:
        raise ValueError("must be flow/deployment, for example crawl-level/crawl-level")
    return value


def _names(value: object) -> object:
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _check_formats(setting: str, names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in FORMATS]
    if unknown or not names:
        but = f"; not {', '.join(unknown)}" if unknown else ""
        raise ValueError(f"{setting}: give at least one of {', '.join(FORMATS)}{but}")


FORMATS = tuple(CaptureFormats.model_fields)
LISTS = ("formats", "allowed_formats", "allowed_hosts", "replay_origins", "apprise_services")
BaseUrl = Annotated[str, AfterValidator(_base_url)]
Folder = Annotated[Path, AfterValidator(_absolute)]


class Settings(BaseSettings):
    """Everything that differs between deployments."""

    model_config = SettingsConfigDict(env_prefix="LEDGER_", frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8765
    tls_cert: Path | None = None
    tls_key: Path | None = None
    oidc_issuer: str | None = None
    """An OpenID Connect issuer whose tokens let people in, exactly as it names itself."""
    oidc_audience: str | None = None
    """What its tokens must be for."""
    oidc_organizations_claim: Annotated[str, Field(min_length=1)] = "organizations"
    oidc_role_claim: Annotated[str, Field(min_length=1)] = "role"
    oidc_ca: Path | None = None
    oidc_timeout_s: Annotated[float, Field(gt=0, le=30)] = 5

    sink_url: BaseUrl | None = None
    """Where capture servers reach this ledger, to hand it their artifacts; left out, they write to its folder."""
    max_artifact_bytes: Annotated[int, Field(ge=1024)] = 512 * 1024 * 1024

    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Further names that clients may call this ledger by, comma-separated."""

    data: Folder
    database_url: str | None = None
    migrate_at_start: bool = False
    """Whether a ledger brings an older schema up by itself: for one that has its database to itself."""
    artifact_root: Folder

    prefect_api_url: BaseUrl
    prefect_auth_string: SecretStr
    """`user:password` for HTTP Basic. Empty, written on purpose, where the Prefect server asks for none."""
    prefect_ui_url: BaseUrl | None = None
    level_deployment: Annotated[str, AfterValidator(_deployment)] = "crawl-level/crawl-level"
    extract_deployment: Annotated[str, AfterValidator(_deployment)] = "extract-pages/extract-pages"

    formats: Annotated[tuple[str, ...], NoDecode] = ("wacz", "html")
    """What captures make of a crawl that chose nothing, comma-separated."""
    allowed_formats: Annotated[tuple[str, ...] | None, NoDecode] = None
    """What a crawl may choose, comma-separated; left out, LEDGER_FORMATS. `links` may be chosen in any case."""
    signing: bool = False
    shared_session_organization: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Whose crawls may ask for `session: shared`. One: the capture servers have one shared session between them all."""
    min_free_bytes: Annotated[int, Field(ge=0)] = 1024**3
    """Below it no crawl and no level is begun."""
    max_crawl_bytes: Annotated[int, Field(ge=1)] | None = None
    retention_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """Ended crawls older than this are removed daily, with their artifacts."""
    max_running_crawls: Annotated[int, Field(ge=1, le=100)] = 1
    max_event_streams: Annotated[int, Field(ge=0, le=1000)] = 32

    reconcile_every_s: Seconds = 5
    silence_limit_s: Seconds = 600
    """Only for runs that nobody calls ended. A run that is cut off goes on with its pages; another attempt beside it
    would visit them twice, so this is longer than a network is usually away."""
    scheduled_limit_s: Seconds = 600
    pending_limit_s: Seconds = 300
    start_limit_s: Seconds = 180
    cancelling_limit_s: Seconds = 120
    ended_grace_s: Annotated[float, Field(ge=0, le=600)] = 5
    dispatch_limit_s: Seconds = 600
    prefect_timeout_s: Seconds = 5

    catch_up_every_s: Seconds = 30
    late_manifest_limit_s: Seconds = 86_400
    adoption_window_s: Seconds = 3600
    tell_every_s: Seconds = 2
    """How often it is looked for what was found on watched pages and was not told yet."""
    apprise_services: Annotated[tuple[str, ...], NoDecode] = PUBLIC_SERVICES
    """What Apprise may send by, comma-separated, each as its URLs begin."""
    replay_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins whose pages may read archives by signed URL, comma-separated."""

    watch_host_delay_ms: Annotated[int, Field(ge=0, le=600_000)] = 5_000
    """Between two visits of a watched host by anyone, where the host asks for no more."""
    watch_visits_per_s: Annotated[float, Field(gt=0, le=100_000)] = 100
    """Visits that may begin, all watchers together: after an outage everything is late at once."""
    watch_visits_per_day: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """What revisits are divided from; left out, one visit for each page without a fixed interval. Those are on top."""
    watch_min_interval_s: Annotated[int, Field(ge=60, le=366 * 86_400)] = 900
    watch_max_interval_s: Annotated[int, Field(ge=60, le=366 * 86_400)] = 30 * 86_400
    """Bounds of the time between two visits, for pages that have none of their own."""
    watch_new_pages_version: Literal[1, 2] = 2
    watch_canaries: dict[str, dict[str, Any]] = {}
    """JSON: settings of pages by canary name, laid over those of the pages that name it; `visit` among them, over those
    of the workers."""
    watch_contents_kept: Annotated[int, Field(ge=1, le=1000)] = 2
    watch_history_days: Annotated[int, Field(ge=1, le=36_500)] = 90

    max_body_bytes: Annotated[int, Field(ge=1024)] = 2 * 1024 * 1024
    max_list_bytes: Annotated[int, Field(ge=1024)] = 8 * 1024 * 1024
    """For starts and target lists: 10,000 URLs."""
    max_report_bytes: Annotated[int, Field(ge=1024)] = 16 * 1024 * 1024
    """For results and closings: 10,000 pages at 1.6 KB each."""

    @model_validator(mode="before")
    @classmethod
    def _split_lists(cls, data: object) -> object:
        if isinstance(data, dict):
            return {key: _names(value) if key in LISTS else value for key, value in data.items()}
        return data

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        _check_formats("LEDGER_FORMATS", self.formats)
        if self.allowed_formats is not None:
            _check_formats("LEDGER_ALLOWED_FORMATS", self.allowed_formats)
            forgotten = [name for name in self.formats if name not in self.may_choose]
            if forgotten:
                raise ValueError(f"LEDGER_ALLOWED_FORMATS: add {', '.join(forgotten)}, which LEDGER_FORMATS names")
        if self.signing and "wacz" not in self.formats:
            raise ValueError("LEDGER_SIGNING: signatures live in WACZ; add wacz to LEDGER_FORMATS")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("LEDGER_TLS_CERT and LEDGER_TLS_KEY: give both or neither")
        if self.tls_cert is None and not is_loopback(self.host):
            raise ValueError(
                f"LEDGER_HOST: {self.host} is reachable from elsewhere, and tokens would travel in plain text; "
                "set LEDGER_TLS_CERT and LEDGER_TLS_KEY, or bind 127.0.0.1"
            )
        for origin in self.replay_origins:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc.lower()}":
                raise ValueError(f"LEDGER_REPLAY_ORIGINS: {origin} is no origin; write it like https://replayweb.page")
        self._check_oidc()
        self._check_watching()
        if self.sink_url is not None and not keeps_secrets(self.sink_url):
            raise ValueError("LEDGER_SINK_URL: begin with https://; http:// is for this machine alone (127.0.0.1)")
        if self.silence_limit_s <= self.reconcile_every_s:
            raise ValueError("LEDGER_SILENCE_LIMIT_S must be over LEDGER_RECONCILE_EVERY_S")
        return self

    def _check_oidc(self) -> None:
        if (self.oidc_issuer is None) != (self.oidc_audience is None):
            missing = "LEDGER_OIDC_AUDIENCE" if self.oidc_audience is None else "LEDGER_OIDC_ISSUER"
            raise ValueError(f"{missing}: is not set; issuer and audience go together")
        if self.oidc_issuer is None:
            if self.oidc_ca is not None:
                raise ValueError("LEDGER_OIDC_CA: goes with LEDGER_OIDC_ISSUER, which is not set")
            return
        if not self.oidc_audience:
            raise ValueError("LEDGER_OIDC_AUDIENCE: is empty; give what the issuer writes into `aud`")
        if not keeps_secrets(self.oidc_issuer):
            raise ValueError(
                "LEDGER_OIDC_ISSUER: give an https:// URL without query; http:// is for this machine alone (127.0.0.1)"
            )

    def _check_watching(self) -> None:
        if self.watch_min_interval_s > self.watch_max_interval_s:
            raise ValueError("LEDGER_WATCH_MIN_INTERVAL_S is over LEDGER_WATCH_MAX_INTERVAL_S")
        for name, overrides in self.watch_canaries.items():
            problem = why_not_these_overrides(name, overrides)
            if problem is not None:
                raise ValueError(f"LEDGER_WATCH_CANARIES: {name}: {problem}")

    @property
    def watching(self) -> WatchTerms:
        """What holds for watched pages."""
        return WatchTerms(
            host_delay_ms=self.watch_host_delay_ms,
            visits_a_second=self.watch_visits_per_s,
            visits_a_day=self.watch_visits_per_day,
            bounds=Bounds(timedelta(seconds=self.watch_min_interval_s), timedelta(seconds=self.watch_max_interval_s)),
            canaries={name: page_overrides(one) for name, one in self.watch_canaries.items()},
            canary_visits={
                name: visit for name, one in self.watch_canaries.items() if (visit := visit_overrides(one)) is not None
            },
            new_pages_version=self.watch_new_pages_version,
            contents_kept=self.watch_contents_kept,
            history_days=self.watch_history_days,
        )

    @property
    def may_choose(self) -> tuple[str, ...]:
        """The formats that a crawl may choose."""
        return tuple(dict.fromkeys((*(self.allowed_formats or self.formats), "links")))

    @property
    def store_url(self) -> str:
        """The database: the one that was given, else SQLite in the data folder."""
        return self.database_url or f"sqlite:///{self.data / 'ledger.db'}"

    @property
    def oidc(self) -> OidcTerms | None:
        """The issuer, where there is one."""
        if self.oidc_issuer is None or self.oidc_audience is None:
            return None
        return OidcTerms(
            issuer=self.oidc_issuer,
            audience=self.oidc_audience,
            organizations_claim=self.oidc_organizations_claim,
            role_claim=self.oidc_role_claim,
            ca_file=self.oidc_ca,
            timeout_s=self.oidc_timeout_s,
        )

    @property
    def limits(self) -> Limits:
        """The reconciler's deadlines."""
        return Limits(
            silence_s=self.silence_limit_s,
            scheduled_s=self.scheduled_limit_s,
            pending_s=self.pending_limit_s,
            start_s=self.start_limit_s,
            cancelling_s=self.cancelling_limit_s,
            ended_grace_s=self.ended_grace_s,
            dispatch_s=self.dispatch_limit_s,
        )


def read_settings() -> Settings:
    """The settings of this process. Raises SettingsRefused naming every setting that is wrong, and what it needs."""
    try:
        return Settings()  # the environment gives the required ones
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_url=False, include_input=False):
            name = "_".join(str(part) for part in problem["loc"][:1]).upper()
            message = str(problem["msg"]).removeprefix("Value error, ")
            if problem["type"] == "missing":
                message = "is not set" + (
                    "; write it empty where Prefect asks for no password" if name == "PREFECT_AUTH_STRING" else ""
                )
            lines.append(f"LEDGER_{name}: {message}" if name else message)
        raise SettingsRefused("\n".join(lines)) from None
