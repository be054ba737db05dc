"""Webhooks go the way that `COMITY_PROXIES` names, and a setting that cannot be used keeps the ledger from starting."""

import json

import pytest

from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.proxies import proxy_rules
from ledger.__main__ import prepare
from ledger.clock import utc_now
from ledger.errors import SettingsRefused
from ledger.services.deliver import Deliverer
from ledger.settings import Settings
from ledger.store.models_telling import WatchChannel
from tests.fakes.prefect_api import FakePrefect
from tests.fakes.webhook_receiver import receiver

pytestmark = pytest.mark.one_database


def test_webhook_goes_through_the_proxy_of_its_address() -> None:
    channel = WatchChannel(id="n" + "0" * 16, kind="webhook", target="http://hooks.example.org/here", secret=b"s" * 32)
    with receiver() as proxy:
        entry = {"pattern": "http://hooks.example.org/*", "proxy": proxy.url.removesuffix("/hook")}
        deliverer = Deliverer(EgressRules(), utc_now, proxies=proxy_rules(json.dumps([entry])))
        try:
            tried = deliverer.test(channel)
        finally:
            deliverer.close()
        assert tried.sent, tried.problem
        ((headers, body),) = proxy.got
        assert headers["host"] == "hooks.example.org"
        assert json.loads(body)["type"] == "watch.test"


@pytest.mark.parametrize("name", ["COMITY_PROXIES", "COMITY_COMPLETE_CHAINS"])
def test_way_out_that_cannot_be_used_is_refused_by_its_name(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    monkeypatch.setenv(name, "nonsense")
    with FakePrefect() as prefect:
        settings = Settings(
            data=folder / "data",
            artifact_root=folder / "store",
            prefect_api_url=prefect.url,
            prefect_auth_string=prefect.auth,
        )
    with pytest.raises(SettingsRefused, match=name):
        prepare(settings)
