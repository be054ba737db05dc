"""A crawl over machines: services on one, a worker and a capture server on each of two others, TLS and tokens between.

Artifacts travel to the ledger's sink: the machines share no folder.
"""

import os
import secrets
import ssl
import subprocess
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest

from blocks.clients.errors import ServiceError
from blocks.clients.ledger import LedgerClient
from comity.cli.stack.prepare import POOLS, RUN_MODULE
from comity.contract.ledger import CrawlView, StartCrawl
from tests.e2e.conftest import COMITY, PREFECT, ROOT
from tests.e2e.kills import FANOUT, grow
from tests.fakes.certificates import Authority, authority
from tests.site import FixtureSite
from tests.site.visits import gaps_s, overlapping, visits_of
from tests.slow.machines import SERVICES, SITE_NETWORK, Machine, Services, network, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.prefect, pytest.mark.timeout(900)]

SITES = 6
DELAY_MS = 1000
PAGES = SITES * (1 + FANOUT[0])
LEDGER_PORT, COMPILER_PORT, PREFECT_PORT, CAPTURE_PORT = 8765, 8766, 4443, 8767
BEHIND_PORT = 4299
"""Where the Prefect server listens in plain text, on loopback alone."""
LEDGER_URL = f"https://{SERVICES}:{LEDGER_PORT}"
PREFECT_URL = f"https://{SERVICES}:{PREFECT_PORT}/api"
CUT_OFF_S = 60


@dataclass
class Deployment:
    """What a test needs of the running deployment."""

    ledger: LedgerClient
    machines: list[Machine]
    sink: Path
    services: Services

    def crawl(self, crawl_id: str) -> CrawlView | None:
        try:
            return self.ledger.crawl(crawl_id)
        except ServiceError:
            return None

    def captured(self, crawl_id: str) -> int:
        view = self.crawl(crawl_id)
        return view.counts.captured if view else 0

    def over(self, crawl_id: str) -> bool:
        view = self.crawl(crawl_id)
        return view is not None and view.state != "running"


@pytest.fixture(scope="module")
def machines() -> Iterator[list[Machine]]:
    with network(SITES, machines=2) as made:
        yield made


@pytest.fixture
def site(machines: list[Machine]) -> Iterator[FixtureSite]:
    with FixtureSite(hosts=SITES, crawl_delay={}, network=SITE_NETWORK) as running:
        yield running


@pytest.fixture
def deployment(machines: list[Machine], tmp_path: Path) -> Iterator[Deployment]:
    services = Services(tmp_path / "logs")
    try:
        with _deployed(services, machines, tmp_path) as running:
            yield running
    finally:
        services.end()


@dataclass(frozen=True)
class _Site:
    """What the services of the deployment share: where their files lie, whom they trust, what they show each other."""

    services: Services
    folder: Path
    ca: Authority
    login: str
    tokens: dict[str, str]

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def prefect(self) -> dict[str, str]:
        """The environment of whoever talks to Prefect."""
        return {
            "PREFECT_API_URL": PREFECT_URL,
            "PREFECT_API_SSL_CERT_FILE": str(self.ca_file),
            "PREFECT_API_AUTH_STRING": self.login,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
        }

    def certificate(self, address: str) -> str:
        return str(self.ca.server_file(self.folder, names=(address,)))


VISITED = {"COMITY_ALLOW_PRIVATE": f"{SITE_NETWORK}.0/24", "COMITY_DENY": "10.213.0.0/24"}


@contextmanager
def _deployed(services: Services, machines: list[Machine], folder: Path) -> Iterator[Deployment]:
    """As the operations guide tells it, one service after the other."""
    ca = authority()
    tokens = {name: secrets.token_urlsafe(32) for name in ("capture", "compiler")}
    here = _Site(services, folder, ca, f"comity:{secrets.token_urlsafe(16)}", tokens)
    here.ca_file.write_text(ca.pem)
    for name, token in tokens.items():
        (folder / name).write_text(token)
    _start_services(here)
    for machine in machines:
        _start_capture(here, machine)
    _wait_for_all(services, machines, here.ca_file, here.login)
    _deploy(here, machines)
    for machine in machines:
        services.start(
            f"worker-{machine.name}",
            "prefect",
            *("worker", "start", "--pool", "comity-levels"),
            env={**here.prefect, **VISITED, "PREFECT_HOME": str(folder / f"worker-{machine.name}")},
            on=machine,
        )
    operator = (folder / "ledger" / "tokens" / "operator").read_text().strip()
    ledger = LedgerClient(LEDGER_URL, operator, ca.pem)
    yield Deployment(ledger, machines, folder / "artifacts", services)
    ledger.close()


def _start_services(here: _Site) -> None:
    """Prefect behind a TLS front, the ledger, the compiler."""
    certificate, folder = here.certificate(SERVICES), here.folder
    here.services.start(
        "prefect",
        "prefect",
        *("server", "start", "--host", "127.0.0.1", "--port", str(BEHIND_PORT)),
        env={
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_SERVER_API_AUTH_STRING": here.login,
            **here.prefect,
        },
    )
    here.services.start(
        "ledger",
        "ledger",
        env={
            "LEDGER_HOST": SERVICES,
            "LEDGER_PORT": str(LEDGER_PORT),
            "LEDGER_TLS_CERT": certificate,
            "LEDGER_TLS_KEY": certificate,
            "LEDGER_ALLOWED_HOSTS": SERVICES,
            "LEDGER_DATA": str(folder / "ledger"),
            "LEDGER_ARTIFACT_ROOT": str(folder / "artifacts"),
            "LEDGER_SINK_URL": LEDGER_URL,
            "LEDGER_PREFECT_API_URL": f"http://127.0.0.1:{BEHIND_PORT}/api",
            "LEDGER_PREFECT_AUTH_STRING": here.login,
            "LEDGER_SILENCE_LIMIT_S": "30",
        },
    )
    here.services.start(
        "compiler",
        "comity.tscompile",
        env={
            "TSCOMPILE_HOST": SERVICES,
            "TSCOMPILE_PORT": str(COMPILER_PORT),
            "TSCOMPILE_TLS_CERT": certificate,
            "TSCOMPILE_TLS_KEY": certificate,
            "TSCOMPILE_TOKEN": here.tokens["compiler"],
        },
    )
    front = (certificate, SERVICES, str(PREFECT_PORT), str(BEHIND_PORT))
    here.services.start("tls", "tests.fakes.tls_front", *front, env={})


def _start_capture(here: _Site, machine: Machine) -> None:
    certificate = here.certificate(machine.address)
    here.services.start(
        f"capture-{machine.name}",
        "comity.capture",
        env={
            "CAPTURE_HOST": machine.address,
            "CAPTURE_PORT": str(CAPTURE_PORT),
            "CAPTURE_TLS_CERT": certificate,
            "CAPTURE_TLS_KEY": certificate,
            "CAPTURE_TOKEN": here.tokens["capture"],
            "CAPTURE_STORE": str(here.folder / machine.name),
            "CAPTURE_SINK_PREFIXES": f'["{LEDGER_URL}/api/sink"]',
            "CAPTURE_SINK_TLS_CA": str(here.ca_file),
            **VISITED,
        },
        on=machine,
    )


def _deploy(here: _Site, machines: list[Machine]) -> None:
    """Pools, Blocks and deployments, by the commands that an operator would give."""
    folder, ca_file = here.folder, str(here.ca_file)
    env = {**os.environ, **here.prefect, "PREFECT_HOME": str(folder / "by-hand")}
    for pool in POOLS:
        _run(PREFECT, "work-pool", "create", pool, "--type", "process", env=env)
    _run(
        COMITY,
        *("blocks", "init"),
        *("--ledger-url", LEDGER_URL, "--ledger-token-file", str(folder / "ledger" / "tokens" / "flows")),
        *("--ledger-trigger-token-file", str(folder / "ledger" / "tokens" / "trigger")),
        *("--ledger-ca-file", ca_file, "--capture-ca-file", ca_file, "--compiler-ca-file", ca_file),
        *("--capture-urls", ",".join(f"https://{machine.address}:{CAPTURE_PORT}" for machine in machines)),
        *("--capture-token-file", str(folder / "capture")),
        *("--compiler-url", f"https://{SERVICES}:{COMPILER_PORT}"),
        *("--compiler-token-file", str(folder / "compiler")),
        env=env,
    )
    _run(PREFECT, "--no-prompt", "deploy", "--all", env=env)


def _run(*command: str, env: dict[str, str]) -> None:
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def _wait_for_all(services: Services, machines: list[Machine], ca_file: Path, login: str) -> None:
    user, _, password = login.partition(":")
    addresses = [
        (f"{LEDGER_URL}/healthz", "ledger"),
        (f"https://{SERVICES}:{COMPILER_PORT}/healthz", "compiler"),
        *((f"https://{one.address}:{CAPTURE_PORT}/healthz", f"capture-{one.name}") for one in machines),
        (f"{PREFECT_URL}/health", "prefect"),
    ]
    context = ssl.create_default_context(cafile=str(ca_file))
    with httpx.Client(verify=context, trust_env=False, timeout=3, auth=(user, password)) as client:

        def answers(url: str) -> bool:
            try:
                return client.get(url).status_code == httpx.codes.OK
            except httpx.HTTPError:
                return False

        for url, name in addresses:
            try:
                wait_until(lambda: answers(url), f"{name} at {url}")  # noqa: B023 (asked before the next one begins)
            except AssertionError as error:
                raise AssertionError(f"{error}: {services.log(name)[-2000:]}") from None


def _started(deployment: Deployment, site: FixtureSite) -> str:
    order = {"seeds": grow(site), "maxDepth": 1, "maxPages": PAGES, "perHostDelayMs": DELAY_MS, "scripts": []}
    return deployment.ledger.start_crawl(StartCrawl.model_validate(order)).crawl_id


def _where_the_flow_runs(machines: list[Machine]) -> list[Machine]:
    """The machines on which a flow run's process lives."""
    names = set()
    for process in psutil.process_iter():
        try:
            if RUN_MODULE in " ".join(process.cmdline()) or "prefect.engine" in " ".join(process.cmdline()):
                told = subprocess.run(
                    ["ip", "netns", "identify", str(process.pid)], capture_output=True, text=True, timeout=5, check=True
                )
                names.add(told.stdout.strip())
        except (psutil.Error, subprocess.CalledProcessError):
            continue
    return [machine for machine in machines if machine.name in names]


def _judge(deployment: Deployment, site: FixtureSite, crawl_id: str) -> None:
    """Everything is captured and lies in the sink, and the site saw no visit too soon."""
    crawl = deployment.ledger.crawl(crawl_id)
    assert crawl.state == "succeeded", (crawl.error, crawl.failures)
    rows = deployment.ledger.pages(crawl_id).pages
    assert len(rows) == PAGES
    assert {row.state for row in rows} == {"captured"}, [(row.url, row.reason, row.visits) for row in rows]
    for row in rows:
        place = Path(row.artifacts["wacz"].removeprefix("file://"))
        assert place.is_relative_to(deployment.sink)
        with zipfile.ZipFile(place) as archive:
            assert archive.testzip() is None
    visits = visits_of(entry for entry in site.log if entry.path.startswith("/grove/"))
    assert overlapping(visits) == ()
    for host in site.hosts:
        assert min(gaps_s(visits, host)) >= DELAY_MS / 1000, host


def test_a_crawl_runs_over_two_machines(deployment: Deployment, site: FixtureSite) -> None:
    crawl_id = _started(deployment, site)
    wait_until(lambda: deployment.over(crawl_id), "the crawl is over", within_s=300)
    _judge(deployment, site, crawl_id)
    used = {visit.endpoint for page in deployment.ledger.pages(crawl_id).pages for visit in page.visits}
    assert used == {f"https://{machine.address}:{CAPTURE_PORT}" for machine in deployment.machines}


@pytest.mark.parametrize("whom", ["with the flow", "without it"])
def test_a_machine_cut_off_for_a_minute_loses_nothing(deployment: Deployment, site: FixtureSite, whom: str) -> None:
    crawl_id = _started(deployment, site)
    wait_until(lambda: deployment.captured(crawl_id) >= 2, "two pages are captured", within_s=120)
    busy = _where_the_flow_runs(deployment.machines)
    assert len(busy) == 1
    (cut,) = busy if whom == "with the flow" else [one for one in deployment.machines if one not in busy]
    with cut.cut_off():
        time.sleep(CUT_OFF_S)  # that long, and no shorter: what is tested is a minute's absence
    wait_until(lambda: deployment.over(crawl_id), "the crawl is over", within_s=400)
    _judge(deployment, site, crawl_id)
