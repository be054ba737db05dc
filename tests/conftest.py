"""What all suites share: nothing calls home, the CA bundle is read once, and a busy machine or a draw fails no test.

Two workers share the tests as tests/order.py says.
"""

import os
import signal
import ssl
from functools import cache
from typing import Any

import httpx
import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from httpx._transports import default as transports
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests import order

os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY", "false")

settings.load_profile("ci")  # Hypothesis' own: the same draws every time, no deadline, no complaint of slow drawing


def _context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    """httpx reads the bundle for each client that is made, also for one of http:// alone: 36 ms of processor time."""
    if verify is True and cert is None:
        return _default_context(trust_env)
    return httpx.create_ssl_context(verify=verify, cert=cert, trust_env=trust_env)


@cache
def _default_context(trust_env: bool) -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=trust_env)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job with `&`: what tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

PATIENCE_S = 60.0
"""For calls of tests that name no timeout: httpx's 5 s are less than a busy machine may take to answer."""
for _part in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _part, PATIENCE_S)

transports.create_ssl_context = _context  # type: ignore[attr-defined]  # what its clients call


class ByUnit(LoadFileScheduling):  # type: ignore[misc]  # xdist is untyped
    """Gives a worker one unit after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return order.unit_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByUnit | None:
    """In place of xdist's own `--dist loadfile`."""
    return ByUnit(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker or two: the same order."""
    items.sort(key=lambda item: order.rank(item.nodeid))
