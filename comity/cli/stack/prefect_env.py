"""The environment that Prefect's server, its workers, flow runs and people at a shell share."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from comity.cli.data_folder import DATA_VARIABLE, DataFolder
from comity.cli.stack.ports import LOOPBACK
from flows.rules.pacing import RUN_HEARTBEAT_S

PREFECT_USER = "comity"
"""The name before the colon of the authentication string; the UI asks for the whole string."""

CLOSED_WAY_OUT = f"http://{LOOPBACK}:9"
"""A proxy that is not there: what the server would fetch from outside (its catalogue of integrations, for a page of
its UI) fails at once, and it falls back to the copy it ships."""


RUNS_KEPT_S = 30 * 86_400
"""Flow runs that ended longer ago leave Prefect's database, with their logs; the ledger has what they did. Prefect
forgets its events after a week by itself."""


@dataclass(frozen=True)
class PrefectAccess:
    """How to reach the embedded Prefect server. `auth_string` is `user:password`, HTTP Basic."""

    port: int
    auth_string: str

    @property
    def ui_url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def api_url(self) -> str:
        return f"{self.ui_url}/api"

    @property
    def basic(self) -> tuple[str, str]:
        user, _, password = self.auth_string.partition(":")
        return user, password


def prefect_access(data: DataFolder, port: int) -> PrefectAccess:
    """The access kept with the data folder; its password is made on first use."""
    return PrefectAccess(port, f"{PREFECT_USER}:{data.secret('prefect')}")


def inherited(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What children take from this process: everything but another Prefect's settings and this stack's own marker.

    A person who uses Prefect elsewhere has `PREFECT_API_URL` in the shell or in a profile; taken over, deployments and
    runs of this stack would land there.
    """
    source = os.environ if environment is None else environment
    kept = {name: value for name, value in source.items() if not name.startswith("PREFECT_") or "LOGGING" in name}
    kept.pop(DATA_VARIABLE, None)
    around_proxies = [kept.get("NO_PROXY") or kept.get("no_proxy") or "", LOOPBACK, "localhost"]
    kept["NO_PROXY"] = kept["no_proxy"] = ",".join(name for name in around_proxies if name)
    return kept


def client_env(data: DataFolder, access: PrefectAccess) -> dict[str, str]:
    """For whoever talks to the embedded server: workers, flow runs, the `prefect` command by hand."""
    return {
        "PREFECT_API_URL": access.api_url,
        "PREFECT_API_AUTH_STRING": access.auth_string,
        "PREFECT_HOME": str(data.prefect_home),
        # Also for flows run by hand: the automation calls every run crashed that falls silent for longer.
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(RUN_HEARTBEAT_S),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }


def worker_env(data: DataFolder, access: PrefectAccess) -> dict[str, str]:
    return client_env(data, access) | {
        "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
        "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
        "PREFECT_CLI_PROMPT": "false",
    }


def server_env(data: DataFolder, access: PrefectAccess) -> dict[str, str]:
    return client_env(data, access) | {
        "PREFECT_SERVER_API_HOST": LOOPBACK,
        "PREFECT_SERVER_API_PORT": str(access.port),
        "PREFECT_SERVER_API_AUTH_STRING": access.auth_string,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": access.ui_url,
        "PREFECT_SERVER_UI_API_URL": access.api_url,
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(RUNS_KEPT_S),
        "HTTPS_PROXY": CLOSED_WAY_OUT,
        "https_proxy": CLOSED_WAY_OUT,
    }
