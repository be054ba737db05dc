import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.cli.errors import PortTaken, StackError
from comity.cli.stack.ports import LOOPBACK, complete, keep_ports, read_ports


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind((LOOPBACK, 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_ports_once_chosen_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = keep_ports(["ledger", "prefect"], path)
    assert keep_ports(["ledger", "prefect"], path) == first
    assert len(set(first.values())) == 2


def test_a_new_part_gets_a_port_and_the_others_keep_theirs(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = keep_ports(["ledger"], path)
    second = keep_ports(["ledger", "capture-1"], path)
    assert second["ledger"] == first["ledger"]
    assert second["capture-1"] != first["ledger"]


def test_a_kept_port_in_use_is_refused_with_its_part_and_the_fix(tmp_path: Path, taken_port: int) -> None:
    path = tmp_path / "ports.json"
    path.write_text(json.dumps({"ledger": taken_port}))
    with pytest.raises(PortTaken) as refusal:
        keep_ports(["ledger"], path)
    assert str(taken_port) in str(refusal.value)
    assert "of ledger is taken by pid" in str(refusal.value)
    assert f"delete {path}" in str(refusal.value)


def test_a_kept_port_of_a_part_that_is_not_started_does_not_matter(tmp_path: Path, taken_port: int) -> None:
    path = tmp_path / "ports.json"
    path.write_text(json.dumps({"capture-9": taken_port}))
    assert keep_ports(["ledger"], path)["capture-9"] == taken_port


def test_taken_candidates_are_passed_over(taken_port: int) -> None:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        free = probe.getsockname()[1]
    assert complete(["ledger"], {}, [taken_port, free]) == {"ledger": free}


def test_no_candidate_left_is_refused(taken_port: int) -> None:
    with pytest.raises(StackError, match="no free port"):
        complete(["ledger"], {}, [taken_port])


@pytest.mark.parametrize("text", ["{", "[]", '{"ledger": "80"}', '{"ledger": 0}', '{"a": 2000, "b": 2000}'])
def test_a_ports_file_that_is_none_is_refused_with_the_fix(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ports.json"
    path.write_text(text)
    with pytest.raises(StackError, match=r"delete it to choose new ports"):
        read_ports(path)


def test_no_ports_file_is_no_ports(tmp_path: Path) -> None:
    assert read_ports(tmp_path / "ports.json") == {}
