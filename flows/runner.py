"""Where hosts are crawled at once: the one place that knows which task runner that is.

A cluster runner (Dask, Ray) goes in here and nowhere else: what hosts are given and give back is picklable.
"""

from typing import Any

from prefect.futures import PrefectConcurrentFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner


def level_runner(parallelism: int) -> TaskRunner[PrefectConcurrentFuture[Any]]:
    """A runner that never has more than `parallelism` hosts in hand.

    Tag limits and global limits of the server took 4-10 times the ideal time; the pool's own size costs nothing.
    """
    return ThreadPoolTaskRunner(max_workers=parallelism)
