"""uvicorn as tests want it: it ends as soon as it is told to."""

import asyncio
import socket

import uvicorn

TICK_S = 0.01


class PromptServer(uvicorn.Server):
    """uvicorn looks ten times a second whether it is to end and then waits as long again: most of a small test's time.

    Like uvicorn's own it lets answers under way come to their end.
    """

    async def main_loop(self) -> None:
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            await asyncio.sleep(TICK_S)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(TICK_S)
        for server in self.servers:
            await server.wait_closed()
        await self.lifespan.shutdown()
