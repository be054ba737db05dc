"""The command as a person meets it: exit status, one clear line, nothing started."""

import subprocess
import sys
from pathlib import Path

import pytest


def comity(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "comity.cli.main", *arguments],
        cwd=cwd,
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("crawl", "htp://example.org/"), "must begin with http:// or https://"),
        (("crawl", "http://127.0.0.2/", "--scope", "all"), "--scope all"),
        (("crawl", "http://127.0.0.2/", "--no-scripts", "--script", "autofetch"), "exclude each other"),
        (("crawl", "http://127.0.0.2:8080/"), "COMITY_ALLOW_PRIVATE=127.0.0.2:8080 would allow it (--allow-private"),
        (("crawl", "https://example.org/", "--allow-private", "intranet"), "--allow-private: 'intranet' has no port"),
        (("up", "--allow-private", "10.0.0.1/8"), "--allow-private: '10.0.0.1/8' is not a range"),
        (("targets", "add", "example.org"), "'example.org' is not a URL"),
        (("audit",), "give a crawl's id, or --all"),
        (("replay", "c0123456789abcdef", "c0123456789abcde0"), "give files or one crawl, not both"),
        (("extract", "check", "."), ".: is a folder, not a file"),
        (("extract", "run", "."), ".: is a folder, not a file"),
        (("extractors", "add", "."), ".: is a folder, not a file"),
        (("extract", "export", "c1", "-o", "o.xls"), "says no form; name a .csv, .jsonl or .parquet file, or --format"),
        (("extract", "export", "c1", "-o", "o"), "says no form"),
        (("audit", "c1", "--all"), "give a crawl's id, or --all"),
        (("blocks", "init"), "--ledger-url: give it, or set COMITY_LEDGER_URL"),
    ],
)
def test_bad_input_is_one_line_with_exit_2_and_starts_nothing(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = comity(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("extract", "export", "c1", "-o", "o.JSONL"),
        ("extract", "export", "c1", "-o", "o.xls", "--format", "csv"),
        ("cancel", "c1"),
        ("audit", "--all"),
        ("targets", "list"),
        ("env",),
        ("search", "fox"),
        ("archives", "list"),
        ("archives", "url", "p1"),
        ("reconcile",),
        ("token", "list"),
    ],
)
def test_without_a_stack_the_command_that_starts_one_is_named(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = comity(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "comity up" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_down_without_a_stack_says_where_there_is_none(tmp_path: Path) -> None:
    done = comity("down", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"comity: no stack runs in {tmp_path / 'data'}\n")


def test_help_loads_neither_prefect_nor_a_service(tmp_path: Path) -> None:
    program = (
        "import sys; from comity.cli.main import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('prefect', 'sqlalchemy', 'fastapi', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=30
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "crawl" in done.stdout


def test_version_is_the_packages(tmp_path: Path) -> None:
    assert comity("version", cwd=tmp_path).stdout.strip()[0].isdigit()
