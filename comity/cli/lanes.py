"""Which hosts the level's flow run is at, asked from Prefect: the ledger learns of a page only when it is over."""

from typing import Self

import httpx

from comity.cli.prefect_calls import PrefectBusy, PrefectCalls
from comity.cli.stack.prefect_env import PrefectAccess
from comity.contract.ledger import CrawlView
from ledger.rules.ask_again import Patience

PATIENCE = Patience(budget_s=2.0)
HOST_TASK = "crawl_host"
"""Its runs are named after their host."""
MOST_TASKS = 200


class Lanes:
    """Asks for the task runs of a crawl's newest flow run. Never in the way: no answer is None."""

    def __init__(self, access: PrefectAccess) -> None:
        self._prefect = PrefectCalls(access.api_url, access.basic, patience=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._prefect.close()

    def of(self, crawl: CrawlView) -> frozenset[str] | None:
        """The hosts that a lane is at. The others are done, or wait for one."""
        if crawl.last_run is None or crawl.state != "running":
            return None
        asked = {
            "task_runs": {"state": {"type": {"any_": ["RUNNING"]}}},
            "flow_runs": {"id": {"any_": [crawl.last_run.id]}},
            "limit": MOST_TASKS,
        }
        try:
            runs = self._prefect.ask("POST", "/task_runs/filter", asked)
            return frozenset(run["name"] for run in runs if run["task_key"].startswith(HOST_TASK))
        except (PrefectBusy, httpx.HTTPError, ValueError, KeyError, TypeError):
            return None
