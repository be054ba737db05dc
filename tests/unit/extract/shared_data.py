"""The public conformance data of the scraping language, where this machine has it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from comity.extract import Diagnostic, plain

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("COMITY_SHARED_DATA") or REPOSITORY / ".." / "shared" / "data") / "kdl"

needs_shared_data = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no conformance data at {FOLDER}: set COMITY_SHARED_DATA to the folder that has kdl/"
)


def shared_json(path: str) -> Any:
    """A file of the data; an empty list where the data is not there, so that no case is collected."""
    return json.loads((FOLDER / path).read_text(encoding="utf-8")) if FOLDER.is_dir() else []


def without_messages(diagnostics: tuple[Diagnostic, ...] | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Diagnostics as plain data. Their message texts are each implementation's own."""
    shown = [plain(one) if isinstance(one, Diagnostic) else one for one in diagnostics]
    return [{key: value for key, value in one.items() if key != "message"} for one in shown]


def without_warning_messages(result: dict[str, Any]) -> dict[str, Any]:
    """A result as plain data, the texts of its warnings left out."""
    warnings = [{key: value for key, value in one.items() if key != "message"} for one in result["warnings"]]
    return {**result, "warnings": warnings}
