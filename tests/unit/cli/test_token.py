"""`comity token` as a person meets it: one clear line for what is wrong."""

from pathlib import Path

import pytest

from tests.unit.cli.test_command import comity


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "alice", "--role", "boss", "--organization", "acme"), "--role"),
        (("create", "a lice", "--role", "viewer", "--organization", "acme"), "NAME"),
        (("create", "alice", "--role", "viewer", "--organization", "a b"), "--organization"),
        (("create", "alice", "--role", "viewer", "--organization", "acme", "--days", "0"), "--days"),
        (("list", "--token-file", "x"), "--ledger-url"),
        (("list", "--ledger-url", "http://127.0.0.1:9"), "--token-file"),
        (("list", "--ledger-url", "http://127.0.0.1:9", "--token-file", "missing"), "missing: cannot be read"),
    ],
)
def test_bad_input_is_one_line_with_exit_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = comity("token", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
