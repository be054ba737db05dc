"""Blocks as Prefect keeps them: created, updated, read; what a form may not hold."""

import dataclasses

import pytest
from prefect.client.orchestration import get_client
from pydantic import SecretStr, ValidationError

from blocks.capture_endpoints import CaptureEndpoints
from blocks.errors import BlockUnreadable
from blocks.init import BlockValues, init_blocks
from blocks.ledger_connection import LedgerConnection
from blocks.load import load_blocks, load_ledger
from blocks.script_compiler import ScriptCompiler
from tests.fakes.certificates import authority
from tests.integration.flows.conftest import PrefectServer

pytestmark = pytest.mark.prefect

VALUES = BlockValues(
    ledger_url="http://127.0.0.1:8700/",
    ledger_token="ledger-secret",
    ledger_trigger_token="trigger-secret",
    ledger_tls_ca_pem="",
    capture_urls=["http://127.0.0.1:8711", "http://127.0.0.1:8712"],
    capture_token="",
    capture_tls_ca_pem="",
    compiler_url="http://127.0.0.1:8720",
    compiler_token="",
    compiler_tls_ca_pem="",
)


@pytest.fixture
def no_blocks(prefect: PrefectServer) -> None:
    """None of ours exists."""
    with get_client(sync_client=True) as client:
        for document in client.request("POST", "/block_documents/filter", json={}).json():
            if document["name"] == "comity":
                client.request("DELETE", "/block_documents/{id}", path_params={"id": document["id"]})


def test_init_creates_then_updates_and_load_reads_at_once(no_blocks: None) -> None:
    created = init_blocks(VALUES)
    assert [(one.slug, one.action) for one in created] == [
        ("ledger-connection/comity", "created"),
        ("capture-endpoints/comity", "created"),
        ("script-compiler/comity", "created"),
    ]
    blocks = load_blocks()
    assert blocks.ledger.url == "http://127.0.0.1:8700"
    assert blocks.ledger.token.get_secret_value() == "ledger-secret"
    assert blocks.endpoints.slots == 2

    updated = init_blocks(dataclasses.replace(VALUES, ledger_token="another", slots_per_endpoint=3))
    assert {one.action for one in updated} == {"updated"}
    assert load_ledger().token.get_secret_value() == "another"
    assert load_blocks().endpoints.slots == 6


def test_missing_block_is_named_with_the_command_that_creates_it(no_blocks: None) -> None:
    with pytest.raises(BlockUnreadable, match=r"Block ledger-connection/comity .*comity blocks init"):
        load_blocks()


def test_block_with_values_that_no_longer_hold_is_refused_without_its_secret(no_blocks: None) -> None:
    init_blocks(VALUES)
    with get_client(sync_client=True) as client:
        document = client.read_block_document_by_name("comity", "ledger-connection", include_secrets=True)
        client.request(
            "PATCH",
            "/block_documents/{id}",
            path_params={"id": document.id},
            json={"data": document.data | {"url": "127.0.0.1:8700"}, "merge_existing_data": False},
        )
    with pytest.raises(BlockUnreadable, match=r"read: url: 127\.0\.0\.1:8700 is the old host:port form") as refused:
        load_ledger()
    assert "ledger-secret" not in str(refused.value)


def test_nothing_is_saved_where_one_value_is_refused(no_blocks: None) -> None:
    with pytest.raises(ValidationError, match="urls: the list is empty"):
        init_blocks(dataclasses.replace(VALUES, capture_urls=[]))
    with pytest.raises(BlockUnreadable):
        load_ledger()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"urls": ["127.0.0.1:8711"]}, "old host:port form"),
        ({"urls": []}, "the list is empty"),
        ({"urls": ["http://a:1", "http://a:1"]}, "listed twice"),
        ({"urls": ["https://a:1"]}, "tls_ca_pem: is empty"),
        ({"tls_ca_pem": "no certificate"}, "tls_ca_pem: holds no certificate"),
        ({"tls_ca_pem": authority().pem}, "tls_ca_pem: is given, but urls is http://"),
        ({"slots_per_endpoint": 0}, "slots_per_endpoint"),
    ],
)
def test_form_refuses_naming_the_field(change: dict[str, object], said: str) -> None:
    given = {"urls": ["http://127.0.0.1:8711"], "token": SecretStr(""), "tls_ca_pem": ""} | change
    with pytest.raises(ValidationError, match=said):
        CaptureEndpoints.model_validate(given)


@pytest.mark.parametrize("kind", [LedgerConnection, CaptureEndpoints, ScriptCompiler])
def test_every_field_is_described_and_all_but_the_slots_are_required(
    kind: type[LedgerConnection | CaptureEndpoints | ScriptCompiler],
) -> None:
    schema = kind.model_json_schema()
    assert set(schema["properties"]) - set(schema["required"]) <= {"slots_per_endpoint"}
    for name, field in schema["properties"].items():
        assert field["title"], name
        assert len(field["description"]) > 30, name
        assert field["examples"], name
    assert kind.get_description()
    assert kind.get_block_type_slug() in ("ledger-connection", "capture-endpoints", "script-compiler")
