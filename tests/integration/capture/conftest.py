"""One fixture web and one capture server for all tests of this folder that do not hurt it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.capture.server import CaptureServer
from tests.site.fixture import FixtureSite

QUICK = {"CAPTURE_LOAD_MS": "12000", "CAPTURE_STEP_MS": "12000", "CAPTURE_BEHAVIORS_MS": "6000"}
"""Budgets that a sound page keeps on a loaded machine too."""
HASTY = {"CAPTURE_LOAD_MS": "1500", "CAPTURE_STEP_MS": "1500", "CAPTURE_BEHAVIORS_MS": "2000"}
"""For a page that keeps none: what takes longer is the fault that the test is about."""


@pytest.fixture(scope="session")
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=3) as running:
        yield running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureServer]:
    with CaptureServer(tmp_path_factory.mktemp("capture") / "store", **QUICK) as running:
        yield running


@pytest.fixture(scope="session")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureServer]:
    """For pages that are sure to use up a budget: another would only make them wait longer."""
    with CaptureServer(tmp_path_factory.mktemp("hasty") / "store", **HASTY) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"
