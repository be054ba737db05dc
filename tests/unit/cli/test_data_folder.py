import stat
from pathlib import Path

import pytest

from comity.cli.data_folder import DataFolder, data_folder
from comity.cli.errors import AlreadyRunning, BadInput
from comity.cli.stack import logs
from comity.cli.stack.prefect_env import inherited
from comity.cli.stack.state import PartState, StackLock, StackState, is_held, read_state, running_stack


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    data = DataFolder(tmp_path / "data")
    data.create()
    return data


def test_folder_and_secrets_are_for_their_owner_alone(folder: DataFolder) -> None:
    secret = folder.secret("prefect")
    assert mode(folder.root) == mode(folder.secrets) == 0o700
    assert mode(folder.secrets / "prefect") == 0o600
    assert len(secret) >= 43  # 256 bits
    assert folder.secret("prefect") == secret
    assert folder.secret("capture") != secret


def test_folder_that_holds_other_files_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="holds files that are not comity's"):
        DataFolder(tmp_path).create()
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    assert mode(tmp_path) == 0o755


def test_folder_that_was_there_keeps_its_mode_and_its_rooms_are_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "demo").mkdir()
    data = DataFolder(tmp_path)
    data.create()
    assert mode(tmp_path) == 0o755
    assert {mode(room) for room in (data.secrets, data.ledger, data.artifacts, data.logs)} == {0o700}
    (tmp_path / "ports.json").write_text("{}")
    data.lock.touch()
    data.create()  # its own files are no others'


def test_chosen_folder_wins_over_variable_and_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMITY_DATA", raising=False)
    assert data_folder(None).root == tmp_path / "data"
    monkeypatch.setenv("COMITY_DATA", str(tmp_path / "env"))
    assert data_folder(None).root == tmp_path / "env"
    assert data_folder(tmp_path / "flag").root == tmp_path / "flag"


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(BadInput, match="is a file"):
        data_folder(file)


def test_a_folder_is_held_once_and_free_afterwards(folder: DataFolder) -> None:
    lock = StackLock(folder)
    assert is_held(folder)
    with pytest.raises(AlreadyRunning, match=r"pid \d+.*comity down"):
        StackLock(folder)
    lock.release()
    assert not is_held(folder)
    StackLock(folder).release()


def test_a_state_without_supervisor_is_no_running_stack(folder: DataFolder) -> None:
    state = StackState(1, "2030-01-31T12:00:00Z", "x", True, {"ledger": "l"}, {"ledger": PartState("ready", pid=2)})
    state.write(folder.state)
    assert read_state(folder.state) == state
    assert running_stack(folder) is None
    lock = StackLock(folder)
    assert running_stack(folder) == state
    lock.release()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"parts": {}}'])
def test_an_unreadable_state_is_none(folder: DataFolder, text: str) -> None:
    folder.state.write_text(text)
    assert read_state(folder.state) is None


def test_children_take_no_other_prefects_settings() -> None:
    taken = inherited(
        {"PATH": "/bin", "PREFECT_API_URL": "https://elsewhere", "PREFECT_LOGGING_LEVEL": "DEBUG", "NO_PROXY": "x.test"}
    )
    assert "PREFECT_API_URL" not in taken
    assert taken["PREFECT_LOGGING_LEVEL"] == "DEBUG"
    assert taken["NO_PROXY"] == "x.test,127.0.0.1,localhost"


def test_a_log_that_outgrew_is_kept_and_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LONGEST_BYTES", 10)
    path = tmp_path / "part.log"
    with logs.open_log(path) as writer:
        writer.write(b"x" * 11)
        writer.flush()
        logs.cut(path)
        writer.write(b"more\n\n")
    assert (tmp_path / "part.log.1").read_bytes() == b"x" * 11
    assert logs.last_line(path) == "more"
    assert logs.last_line(tmp_path / "absent") == ""
