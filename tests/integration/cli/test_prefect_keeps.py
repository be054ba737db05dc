"""What the embedded Prefect server forgets, in the words of Prefect's own settings."""

import json
import subprocess
import sys
from pathlib import Path

from comity.cli.data_folder import DataFolder
from comity.cli.stack.prefect_env import prefect_access, server_env

ASK = """
import json
from prefect.settings import get_current_settings
server = get_current_settings().server
vacuum = server.services.db_vacuum
print(json.dumps([sorted(vacuum.enabled), vacuum.retention_period.days, server.events.retention_period.days]))
"""


def test_prefect_reads_that_runs_go_after_thirty_days_and_events_after_seven(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    data.create()
    env = server_env(data, prefect_access(data, 4200))
    done = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout) == [["events", "flow_runs"], 30, 7]
