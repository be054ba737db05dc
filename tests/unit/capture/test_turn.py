"""What a page has fetched waits while it loads, never longer than a moment, and never much of it."""

import asyncio

from comity.capture import turn
from comity.capture.turn import Turn


async def waiting(one: Turn, size_bytes: int = 100) -> "asyncio.Task[None]":
    task = asyncio.create_task(one.come(size_bytes))
    await asyncio.sleep(0)
    return task


async def test_nothing_waits_while_no_page_loads() -> None:
    assert (await waiting(Turn())).done()


async def test_what_ends_while_the_page_loads_waits_until_it_has_loaded() -> None:
    one = Turn()
    one.give_way()
    task = await waiting(one)
    assert not task.done()
    one.catch_up()
    await task
    assert (await waiting(one)).done()


async def test_the_next_load_is_waited_for_again_and_lets_go_what_waited_before() -> None:
    one = Turn()
    one.give_way()
    before = await waiting(one)
    one.give_way()
    await before
    after = await waiting(one)
    assert not after.done()
    one.catch_up()
    await after


async def test_more_than_the_browser_may_keep_waits_no_longer() -> None:
    one = Turn()
    one.give_way()
    first = await waiting(one, turn.WAITING_BYTES)
    assert not first.done()
    await one.come(1)
    await first


async def test_a_page_that_takes_long_is_not_waited_for() -> None:
    one = Turn()
    one.give_way()
    async with asyncio.timeout(30):
        await one.come(100)
