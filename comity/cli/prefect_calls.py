"""Calls of Prefect's REST API from a command, over plain HTTP: asked again while Prefect refuses for a moment.

Prefect itself is not imported: that takes seconds, which a command that only asks has better use for.
"""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Self

import httpx

from ledger.rules.ask_again import Patience, is_passing

PATIENCE = Patience(budget_s=30.0)
LONGEST_TRY_S = 10.0


class PrefectBusy(Exception):  # noqa: N818 - says what is so
    """Prefect went on refusing for a moment until the budget was over: no verdict on what was asked."""

    def __init__(self, status: int, tries: int, waited_s: float) -> None:
        super().__init__(f"answers {status}, asked {tries} {'times' if tries > 1 else 'time'} in {waited_s:.0f} s")
        self.status = status


class PrefectCalls:
    """Asks one Prefect API. `basic` is user and password, None where there is no authentication string.

    Every request must be safe to repeat: what creates a flow run carries an idempotency key.
    """

    def __init__(self, api_url: str, basic: tuple[str, str] | None, *, patience: Patience = PATIENCE) -> None:
        self.api_url = api_url
        self.patience = patience
        self._answered = False
        self._client = httpx.Client(base_url=api_url, auth=basic, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the connections back."""
        self._client.close()

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer's JSON. Raises as `answer`, httpx.HTTPStatusError for a verdict that is no success, ValueError."""
        response = self.answer(method, path, body)
        response.raise_for_status()
        return response.json()

    def answer(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        """Prefect's verdict, whichever it is.

        Raises PrefectBusy where no try within the budget got one, httpx.TransportError where Prefect does not answer. A
        connection that is refused before the first answer is not tried again: nobody listens there.
        """
        began_s = time.monotonic()
        tries = 0
        while True:
            tries += 1
            left_s = self.patience.budget_s - (time.monotonic() - began_s)
            retry_after = None
            failure: Exception
            try:
                response = self._client.request(method, path, json=body, timeout=max(0.1, min(LONGEST_TRY_S, left_s)))
            except httpx.TransportError as error:
                if not self._answered and isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                    raise
                failure = error
            else:
                self._answered = True
                if not is_passing(response.status_code):
                    return response
                retry_after = response.headers.get("retry-after")
                failure = PrefectBusy(response.status_code, tries, time.monotonic() - began_s)
            waited_s = time.monotonic() - began_s
            pause_s = self.patience.pause_s(
                tries=tries, waited_s=waited_s, retry_after=retry_after, now=datetime.now(UTC)
            )
            if pause_s is None:
                raise failure
            time.sleep(pause_s)
