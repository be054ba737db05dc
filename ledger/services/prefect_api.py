"""The few calls of Prefect's REST API that the ledger makes.

Prefect itself is not imported: it would triple our memory.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ledger.rules.ask_again import Patience, is_passing
from ledger.rules.resume import OVER

PATIENCE = Patience(budget_s=15.0)
"""Every call below is safe to repeat: a run has its idempotency key. Beyond, the reconciler's next pass asks again."""
ONCE = Patience(budget_s=0.0)


class PrefectAway(Exception):  # noqa: N818  says what is so, not what went wrong
    """No verdict: Prefect did not answer, or answered that it cannot right now."""


class PrefectRefused(Exception):  # noqa: N818  named as the ledger's refusals are
    """Prefect understood and refused for good; trying the same again changes nothing."""


@dataclass(frozen=True)
class RunState:
    """`type` is Prefect's state type in capitals: SCHEDULED, PENDING, RUNNING, ..."""

    type: str
    message: str


class PrefectApi:
    """One Prefect server. `auth` is `user:password`, or empty."""

    def __init__(
        self,
        api_url: str,
        auth: str,
        deployment: str,
        timeout_s: float,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        user, _, password = auth.partition(":")
        self._deployment = deployment
        self._deployment_id: str | None = None
        self._url = api_url
        self._client = httpx.AsyncClient(
            base_url=api_url + "/",
            auth=httpx.BasicAuth(user, password) if auth else None,
            timeout=timeout_s,
            trust_env=False,
            transport=transport,
        )

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()

    async def health(self) -> None:
        """Raises PrefectAway where Prefect does not answer, or not to us."""
        answer = await self._ask("GET", "health", patience=ONCE)
        if not answer.is_success:
            raise PrefectAway(f"HTTP {answer.status_code}")

    async def create_run(
        self, *, name: str, parameters: Mapping[str, object], idempotency_key: str, tags: Sequence[str]
    ) -> str:
        """The id of the flow run for this key: a new one, or the one that the key created before.

        Raises PrefectAway, or PrefectRefused where the deployment does not take these parameters.
        """
        body = {
            "name": name,
            "parameters": dict(parameters),
            "idempotency_key": idempotency_key,
            "tags": list(tags),
        }
        known = self._deployment_id
        created = await self._create(known or await self._find_deployment(), body)
        if created.status_code == 404 and known is not None:  # deployed anew since we last looked
            created = await self._create(await self._find_deployment(), body)
        if created.status_code in (400, 409, 422):
            raise PrefectRefused(f"{self._deployment} does not take the run: {_detail(created)}")
        return _text(self._expect(created), "id")

    async def _create(self, deployment_id: str, body: Mapping[str, object]) -> httpx.Response:
        return await self._ask("POST", f"deployments/{deployment_id}/create_flow_run", body)

    async def _find_deployment(self) -> str:
        flow, _, deployment = self._deployment.partition("/")
        found = await self._ask("GET", f"deployments/name/{quote(flow, safe='')}/{quote(deployment, safe='')}")
        if found.status_code == 404:
            # Not for good: at the start of a stack the deployment may be seconds away.
            raise PrefectAway(f"deployment {self._deployment} is not there; run `prefect deploy --all`")
        self._deployment_id = _text(self._expect(found), "id")
        return self._deployment_id

    async def run_state(self, run_id: str) -> RunState | None:
        """The run's state, or None where Prefect knows no such run. Raises PrefectAway."""
        if not _is_uuid(run_id):
            return None
        answer = await self._ask("GET", f"flow_runs/{run_id}", patience=ONCE)  # the next pass asks again
        if answer.status_code == 404:
            return None
        body = self._expect(answer)
        state = body.get("state")
        if not isinstance(state, dict):
            state = {"type": body.get("state_type")}
        return RunState(type=_text(state, "type").upper(), message=str(state.get("message") or "")[:500])

    async def cancel_run(self, run_id: str) -> None:
        """Ask for the run to be cancelled; a run that is over stays as it is. Raises PrefectAway.

        One whose process is only being started is cancelled at once: the worker kills none that has not begun, and it
        would be Cancelling until the server gives it up five minutes later.
        """
        if not _is_uuid(run_id):
            return
        pending = False
        with contextlib.suppress(PrefectAway):  # what follows is tried more than once
            now = await self.run_state(run_id)
            if now is None or now.type in OVER:
                return
            pending = now.type == "PENDING"
        state = "CANCELLED" if pending else "CANCELLING"
        body = {"state": {"type": state, "name": state.capitalize()}, "force": False}
        answer = await self._ask("POST", f"flow_runs/{run_id}/set_state", body)
        if answer.status_code != 404:
            self._expect(answer)

    async def _ask(self, method: str, path: str, body: object = None, patience: Patience = PATIENCE) -> httpx.Response:
        began_s = time.monotonic()
        tries = 0
        while True:
            tries += 1
            retry_after = None
            try:
                answer = await self._client.request(method, path, json=body)
            except httpx.HTTPError as error:
                trouble = f"{type(error).__name__} {error}".strip()
            else:
                if not is_passing(answer.status_code):
                    return answer
                trouble = f"HTTP {answer.status_code}"
                retry_after = answer.headers.get("retry-after")
            waited_s = time.monotonic() - began_s
            pause_s = patience.pause_s(tries=tries, waited_s=waited_s, retry_after=retry_after, now=datetime.now(UTC))
            if pause_s is None:
                again = f" (asked {tries} times in {waited_s:.0f} s)" if tries > 1 else ""
                raise PrefectAway(f"{self._url}: {trouble}{again}")
            await asyncio.sleep(pause_s)

    def _expect(self, answer: httpx.Response) -> dict[str, Any]:
        if answer.status_code in (401, 403):
            raise PrefectAway(f"{self._url}: HTTP {answer.status_code}; is LEDGER_PREFECT_AUTH_STRING right?")
        if not answer.is_success:
            raise PrefectAway(f"{self._url}: HTTP {answer.status_code} {_detail(answer)}")
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise PrefectAway(f"{self._url}: not a Prefect API (no JSON object came back)")
        return body


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise PrefectAway(f"Prefect answered without {key!r}")
    return value


def _detail(answer: httpx.Response) -> str:
    return answer.text[:300].replace("\n", " ")


def _is_uuid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True
