"""The embedded Prefect server: Prefect's own application, over a database that is there and that waits its turn.

    python -m comity.cli.stack.prefect_server

As `prefect server start` in the foreground, with Prefect's own settings from the environment (`prefect_env`).
"""

import sys
from pathlib import Path

import uvicorn
from prefect.server.api.server import create_app
from prefect.server.database.dependencies import set_database_config
from prefect.settings import get_current_settings

from comity.cli.stack.prefect_database import WaitsForItsTurn, lay_out, template


def main() -> int:
    settings = get_current_settings()
    server = settings.server
    url = server.database.connection_url
    if url is None:
        print("this Prefect has no database", file=sys.stderr)
        return 1
    set_database_config(WaitsForItsTurn(connection_url=url.get_secret_value()))
    lay_out(Path(settings.home) / "prefect.db", template())
    uvicorn.run(
        create_app(final=True),
        host=server.api.host,
        port=server.api.port,
        timeout_keep_alive=server.api.keepalive_timeout,
        ws_ping_interval=server.api.websocket_ping_interval,
        ws_ping_timeout=server.api.websocket_ping_timeout,
        log_level=server.logging_level.lower(),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
