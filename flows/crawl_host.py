"""One host of a level, as a Prefect task: a bar in the UI, named after the host."""

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger

from flows.delivery import Delivery
from flows.host_lease import HostGate
from flows.host_round import HostRound, HostSummary
from flows.level_resources import of_run
from flows.rules.facts import LevelFacts
from flows.rules.plan import HostPlan
from flows.sink_grant import SinkGrant


@task(task_run_name="{plan.host}", cache_policy=NO_CACHE, retries=0, persist_result=False)
def crawl_host(plan: HostPlan, facts: LevelFacts) -> HostSummary:
    """Visit the pages of one host, one at a time, and tell the ledger of each as soon as it is over.

    No retries by Prefect: they sleep uninterruptibly, hold the runner's slot, and start the host over. A failure here
    is a missing service, never a page's; it tells all other hosts of the level to stop.
    """
    log = get_run_logger()
    with of_run(facts.run_id) as level:
        delivery = Delivery(level.ledger, facts, level.stop, log)
        gate = HostGate(level.ledger, plan, facts, level.stop, log)
        sink = level.sink or SinkGrant(facts, level.ledger, log, age=None)
        host = HostRound(
            plan,
            facts,
            endpoints=level.endpoints,
            delivery=delivery,
            gate=gate,
            stop=level.stop,
            sink=sink.current,
            log=log,
        )
        try:
            return host.run()
        except BaseException as error:
            level.stop.set(f"{plan.host}: {error}", hang_up=False)
            raise
