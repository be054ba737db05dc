"""Which processes a stack is made of: each a command, an environment, how it says that it is ready, and its log."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from comity.cli.allowance import own_endpoints
from comity.cli.data_folder import DATA_VARIABLE, DataFolder
from comity.cli.stack import prefect_env
from comity.cli.stack.guard import MARKER
from comity.cli.stack.ports import LOOPBACK
from comity.cli.stack.prefect_env import PrefectAccess
from comity.polite.rules.addresses import ALLOW_SETTING, DENY_SETTING

LEDGER, COMPILER, PREFECT, WORKERS = "ledger", "compiler", "prefect", "workers"
S3_PREFIX = "COMITY_S3_"
"""Settings of a bucket for artifacts, instead of the data folder. Its keys are for those alone who use it."""
ALLOWED_FORMATS = ("wacz", "html", "png", "webp", "mhtml", "links")
"""What a crawl of the embedded stack may choose: all that its capture servers make."""
SILENCE_LIMIT_S = 45
"""Between the processes of one machine no network can be away: a flow run that is silent for so long is dead."""


@dataclass(frozen=True)
class HttpReady:
    """Ready when `url` answers 200."""

    url: str
    basic: tuple[str, str] | None = None


@dataclass(frozen=True)
class FileReady:
    """Ready when the part has written its pid there. The supervisor removes the file before each start."""

    path: Path


@dataclass(frozen=True)
class Part:
    """One process of the stack."""

    name: str
    command: tuple[str, ...]
    env: dict[str, str]
    ready: HttpReady | FileReady
    restarts_with: str | None = None
    """The part without which this one is of no use: when that dies, this is started again too."""
    ready_budget_s: float = 60.0
    children_first: bool = False
    """At the end its children are told first, while everything that they report to is still there."""
    keeps_children: bool = False
    """Its orphans may finish their work: a flow run outlives the restart of its worker."""


@dataclass(frozen=True)
class Addresses:
    """Where the parts of a stack listen."""

    ledger: str
    compiler: str
    captures: tuple[str, ...]
    prefect: PrefectAccess = field(repr=False)

    def as_json(self) -> dict[str, object]:
        """For people and programs: no secrets."""
        return {
            "ledger": self.ledger,
            "compiler": self.compiler,
            "captures": list(self.captures),
            "prefectApi": self.prefect.api_url,
            "prefectUi": self.prefect.ui_url,
        }


def capture_name(number: int) -> str:
    return f"capture-{number}"


def port_names(browsers: int) -> list[str]:
    """The parts that listen, in the order in which ports are chosen."""
    return [LEDGER, COMPILER, PREFECT, *(capture_name(number) for number in range(1, browsers + 1))]


def addresses(data: DataFolder, ports: dict[str, int], browsers: int) -> Addresses:
    def url(name: str) -> str:
        return f"http://{LOOPBACK}:{ports[name]}"

    return Addresses(
        ledger=url(LEDGER),
        compiler=url(COMPILER),
        captures=tuple(url(capture_name(number)) for number in range(1, browsers + 1)),
        prefect=prefect_env.prefect_access(data, ports[PREFECT]),
    )


def stack_parts(
    data: DataFolder, ports: dict[str, int], browsers: int, root: Path, allow_private: str = ""
) -> list[Part]:
    """Every part of the stack. `root` is the folder that holds the packages and `prefect.yaml`.

    `allow_private` is what may be visited besides the public web; the stack's own ports never are.
    """
    at = addresses(data, ports, browsers)
    inherited = prefect_env.inherited()
    s3 = {name: value for name, value in inherited.items() if name.startswith(S3_PREFIX)}
    common = {name: value for name, value in inherited.items() if name not in s3} | {
        DATA_VARIABLE: str(data.root),
        MARKER: str(data.root),
        "PYTHONUNBUFFERED": "1",
        ALLOW_SETTING: allow_private,
        DENY_SETTING: own_endpoints((LOOPBACK, port) for port in ports.values()),
    }
    return [
        _ledger(data, ports[LEDGER], at, common | s3),
        _compiler(data, ports[COMPILER], at, common),
        *(_capture(data, ports[capture_name(number)], number, common | s3) for number in range(1, browsers + 1)),
        _prefect_server(data, at, common),
        _workers(data, at, common, root),
    ]


def _module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, *arguments)


def _ledger(data: DataFolder, port: int, at: Addresses, common: dict[str, str]) -> Part:
    env = common | {
        "LEDGER_HOST": LOOPBACK,
        "LEDGER_PORT": str(port),
        "LEDGER_DATA": str(data.ledger),
        "LEDGER_MIGRATE_AT_START": "true",  # nobody else works on this database
        "LEDGER_ARTIFACT_ROOT": str(data.artifacts),
        "LEDGER_ALLOWED_FORMATS": ",".join(ALLOWED_FORMATS),
        "LEDGER_PREFECT_API_URL": at.prefect.api_url,
        "LEDGER_PREFECT_AUTH_STRING": at.prefect.auth_string,
        "LEDGER_PREFECT_UI_URL": at.prefect.ui_url,
        "LEDGER_SILENCE_LIMIT_S": str(SILENCE_LIMIT_S),
    }
    return Part(LEDGER, _module("ledger"), env, HttpReady(f"{at.ledger}/healthz"))


def _compiler(data: DataFolder, port: int, at: Addresses, common: dict[str, str]) -> Part:
    env = common | {
        "TSCOMPILE_HOST": LOOPBACK,
        "TSCOMPILE_PORT": str(port),
        "TSCOMPILE_TOKEN": data.secret("compiler"),
        "TSCOMPILE_CACHE": str(data.compiler_cache),
    }
    return Part(COMPILER, _module("comity.tscompile"), env, HttpReady(f"{at.compiler}/healthz"))


def _capture(data: DataFolder, port: int, number: int, common: dict[str, str]) -> Part:
    name = capture_name(number)
    env = common | {
        "CAPTURE_HOST": LOOPBACK,
        "CAPTURE_PORT": str(port),
        "CAPTURE_TOKEN": data.secret("capture"),
    }
    if not env.get(f"{S3_PREFIX}BUCKET"):
        env["CAPTURE_STORE"] = str(data.artifacts)
    return Part(name, _module("comity.capture"), env, HttpReady(f"http://{LOOPBACK}:{port}/healthz"))


def _prefect_server(data: DataFolder, at: Addresses, common: dict[str, str]) -> Part:
    return Part(
        PREFECT,
        _module("comity.cli.stack.prefect_server"),
        common | prefect_env.server_env(data, at.prefect),
        HttpReady(f"{at.prefect.api_url}/health", at.prefect.basic),
        ready_budget_s=120.0,
    )


def _workers(data: DataFolder, at: Addresses, common: dict[str, str], root: Path) -> Part:
    env = common | prefect_env.worker_env(data, at.prefect) | block_env(data, at)
    return Part(
        WORKERS,
        _module("comity.cli.stack.workers", "--root", str(root), "--ready-file", str(data.run / "workers.ready")),
        env,
        FileReady(data.run / "workers.ready"),
        # After an outage of the server its workers no longer see cancellations.
        restarts_with=PREFECT,
        ready_budget_s=180.0,
        # Told to end, a worker kills its flow runs at once; told themselves, they say so to Prefect and the ledger.
        children_first=True,
        keeps_children=True,
    )


def block_env(data: DataFolder, at: Addresses) -> dict[str, str]:
    """What `comity blocks init` reads: the addresses and tokens that go into the Blocks."""
    return {
        "COMITY_LEDGER_URL": at.ledger,
        "COMITY_LEDGER_TOKEN_FILE": str(data.ledger_token("flows")),
        "COMITY_LEDGER_TRIGGER_TOKEN_FILE": str(data.ledger_token("trigger")),
        "COMITY_LEDGER_CA_FILE": "",
        "COMITY_CAPTURE_URLS": ",".join(at.captures),
        "COMITY_CAPTURE_TOKEN_FILE": str(data.secrets / "capture"),
        "COMITY_CAPTURE_CA_FILE": "",
        "COMITY_COMPILER_URL": at.compiler,
        "COMITY_COMPILER_TOKEN_FILE": str(data.secrets / "compiler"),
        "COMITY_COMPILER_CA_FILE": "",
    }


def package_root() -> Path:
    """The folder that holds `comity`, `flows` and `prefect.yaml`."""
    return Path(__file__).resolve().parents[3]
