"""The server's own description of its calls is frozen: whoever built a caller on it must hear of a change first."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.capture.server import CaptureServer

pytestmark = pytest.mark.browser

FROZEN = Path(__file__).with_name("openapi.json")


def test_description_is_the_frozen_one(server: CaptureServer, tmp_path: Path) -> None:
    told: dict[str, Any] = server.get("/openapi.json").json()
    told["info"]["version"] = "any"
    now = tmp_path / "openapi.json"
    now.write_text(json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    assert now.read_text() == FROZEN.read_text(), f"meant? Then copy {now} to {FROZEN}, and tell it in CHANGELOG.md"
