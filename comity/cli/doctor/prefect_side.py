"""Links of Prefect: API, authentication, pools, workers, deployments; over plain HTTP, as anyone would ask."""

import httpx

from comity.cli.prefect_calls import PrefectBusy, PrefectCalls
from flows.doctor_links import Link

POOLS = ("comity-levels", "comity-extractions", "comity-triggers", "comity-watchers")
DEPLOYMENTS = (
    "crawl-level/crawl-level",
    "extract-pages/extract-pages",
    "trigger-crawl/trigger-crawl",
    "trigger-crawl/nightly",
    "watch-pages/watch-pages",
    "doctor/doctor",
)
DOCTOR = "doctor/doctor"
WORKER_FIX = "comity up runs one for each pool; else: prefect worker start --pool "


BUSY_FIX = (
    "ask again when less is running: nothing is known to be broken. A Prefect that is often so busy wants PostgreSQL "
    "instead of SQLite (PREFECT_SERVER_DATABASE_CONNECTION_URL of its server)"
)
LOG_FIX = "see the log of prefect"
TROUBLE = (PrefectBusy, httpx.HTTPError, ValueError, KeyError)
"""What asking Prefect raises, and taking an answer apart that is not Prefect's."""


def trouble_link(name: str, error: Exception) -> Link:
    """The failed link of a question that got no answer to use. No answer is no proof that anything is missing."""
    if isinstance(error, PrefectBusy):
        return Link(
            name, False, f"Prefect {error}", LOG_FIX if error.status == httpx.codes.INTERNAL_SERVER_ERROR else BUSY_FIX
        )
    if isinstance(error, httpx.HTTPStatusError):
        return Link(name, False, f"Prefect answers {error.response.status_code}", LOG_FIX)
    return Link(name, False, f"{type(error).__name__}: {error}", LOG_FIX)


def is_missing(error: Exception) -> bool:
    """Whether Prefect says that there is no such thing."""
    return isinstance(error, httpx.HTTPStatusError) and error.response.status_code == httpx.codes.NOT_FOUND


class PrefectSide(PrefectCalls):
    """The links of one Prefect API, each asked again while Prefect is busy."""

    def look(self) -> list[Link]:
        """Every link; only the first where the API cannot be reached at all."""
        api = self._api()
        if not api.ok:
            return [api]
        return [
            api,
            self._closed_to_strangers(),
            *(self._pool(pool) for pool in POOLS),
            self._deployed(),
        ]

    def _api(self) -> Link:
        name = f"Prefect {self.api_url}"
        try:
            version = self.ask("GET", "/admin/version")
        except httpx.HTTPStatusError as error:
            if error.response.status_code in (401, 403):
                return Link(name, False, "refuses our authentication string", 'eval "$(comity env)" sets the right one')
            return trouble_link(name, error)
        except (httpx.TransportError, ValueError) as error:
            return Link(name, False, f"does not answer: {error}", "comity up, or correct PREFECT_API_URL")
        except PrefectBusy as error:
            return trouble_link(name, error)
        return Link(name, True, f"version {version}")

    def _closed_to_strangers(self) -> Link:
        """The server hands the Blocks' secrets to anyone who may ask."""
        name = "Prefect authentication"
        try:
            with PrefectCalls(self.api_url, None, patience=self.patience) as stranger:
                status = stranger.answer("GET", "/admin/version").status_code
        except TROUBLE as error:
            return trouble_link(name, error)
        if status == httpx.codes.UNAUTHORIZED:
            return Link(name, True, "demanded")
        return Link(name, False, f"a caller without it gets {status}", "set PREFECT_SERVER_API_AUTH_STRING")

    def _pool(self, pool: str) -> Link:
        name = f"work pool {pool}"
        create = f"prefect work-pool create --type process {pool}"
        try:
            found = self.ask("GET", f"/work_pools/{pool}")
            workers = self.ask("POST", f"/work_pools/{pool}/workers/filter", {})
        except TROUBLE as error:
            return Link(name, False, "does not exist", create) if is_missing(error) else trouble_link(name, error)
        if found["type"] != "process":
            return Link(name, False, f"is of type {found['type']}", f"delete it, then {create}")
        if found["is_paused"]:
            return Link(name, False, "is paused", f"prefect work-pool resume {pool}")
        online = [worker["name"] for worker in workers if worker["status"] == "ONLINE"]
        said = f"worker {', '.join(online)} online" if online else "no worker is online"
        return Link(name, bool(online), said, f"{WORKER_FIX}{pool}")

    def _deployed(self) -> Link:
        missing = []
        for deployment in DEPLOYMENTS:
            try:
                self.ask("GET", f"/deployments/name/{deployment}")
            except TROUBLE as error:
                if not is_missing(error):
                    return trouble_link("deployments", error)
                missing.append(deployment)
        if missing:
            return Link("deployments", False, f"missing: {', '.join(missing)}", "prefect deploy --all")
        return Link("deployments", True, ", ".join(DEPLOYMENTS))
