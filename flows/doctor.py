"""`doctor`: looks at every service from a flow run on the pool, with the very settings that a level uses."""

from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.doctor_links import look_at_blocks, look_at_services

ARTIFACT_KEY = "comity-doctor"


@flow(name="doctor", flow_run_name="doctor", retries=0, persist_result=False)
def doctor() -> State[Any]:
    """Check from here that Blocks, ledger, script compiler and capture servers can be reached. Changes nothing."""
    blocks, links = look_at_blocks()
    if blocks is not None:
        links += look_at_services(blocks)
    create_table_artifact(
        key=ARTIFACT_KEY,
        table=[{"name": link.name, "ok": link.ok, "said": link.said, "fix": link.fix} for link in links],
        description="Every link of the chain, seen from a flow run on the pool.",
    )
    failed = [link for link in links if not link.ok]
    if failed:
        said = "; ".join(f"{link.name}: {link.said}" for link in failed)
        return Failed(message=f"{len(failed)} of {len(links)} links failed: {said}"[:2000])
    return Completed(message=f"all {len(links)} links hold")
