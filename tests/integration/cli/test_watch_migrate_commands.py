"""`comity watch migrate …` against a real ledger."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from comity.cli.errors import CliError
from tests.integration.cli.watch_desk import Shell, shell_at
from tests.integration.ledger.watching import changed

OLD_TITLE = "港のニュース &amp; 茶".encode("euc_jp")
TITLE = "港のニュース & 茶"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    with shell_at(tmp_path, monkeypatch) as running:
        yield running


def lines(*rows: object) -> str:
    return "".join(f"{row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def url(number: int) -> str:
    return f"https://h{number}.example/"


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("base64", base64.b64encode(OLD_TITLE).decode()),
        ("hex", "0x" + OLD_TITLE.hex()),
        ("latin1", OLD_TITLE.decode("latin-1")),
        ("text", TITLE),
    ],
)
def test_titles_of_an_old_database_come_out_right(shell: Shell, form: str, written: str) -> None:
    told = shell.says(
        "migrate", "import", "-", "--title-form", form, given=lines({"url": url(1), "title": written, "lists": ["港"]})
    )
    assert told == "1 pages: 1 added, 0 times and 0 texts taken over, 0 lines left out\n"
    (page,) = shell.json("pages")
    assert (page["title"], page["version"]) == (TITLE, 1)
    assert [one["name"] for one in shell.json("lists")] == ["港"]


def test_lines_that_cannot_be_read_are_named_and_the_rest_is_taken(shell: Shell) -> None:
    late = (shell.clock() + timedelta(days=2)).isoformat()
    given = lines(
        {"url": url(1), "content": "one", "updatedAt": (shell.clock() - timedelta(days=2)).isoformat()},
        "{not json",
        [1],
        {"url": "ftp://x.example/"},
        {"url": url(2), "updatedAt": "yesterday"},
        "",
        {"url": url(3), "updatedAt": late},
        {"url": url(4), "lists": 5},
        {"url": url(5), "lists": ["x" * 300]},
        {"url": url(6), "lists": None, "title": "six"},
        {"url": url(7), "color": "red"},
        {"title": "of nothing"},
    )
    out, said = shell.in_part("migrate", "import", "-", given=given)
    assert out == "2 pages: 2 added, 1 times and 1 texts taken over, 9 lines left out\n"
    named = [line.split(":")[1] for line in said.splitlines()]
    assert named == ["2", "3", "4", "5", "7", "8", "9", "11", "12"]
    assert "updatedAt: lies in the future" in said
    assert [one["url"] for one in shell.json("pages")] == [url(1), url(6)]
    assert shell.json("lists") == []
    out, said = shell.in_part(
        "migrate", "import", "-", "--title-form", "base64", given=lines({"url": url(8), "title": "ü"})
    )
    assert "is not base64" in said
    again = shell.run("migrate", "import", "-", "--json", given=lines({"url": url(1)}))
    assert json.loads(again.stdout) == {"pages": 1, "added": 0, "newer": 0, "contents": 0, "leftOut": 0}
    assert "--charset" in shell.refuses("migrate", "import", "-", "--charset", "klingon", given="")
    assert "--title-form" in shell.refuses("migrate", "import", "-", "--title-form", "rot13", given="")


def test_many_texts_go_in_calls_that_the_ledger_takes(shell: Shell) -> None:
    text = "港 " * 100_000
    told = shell.says("migrate", "import", "-", given=lines(*({"url": url(n), "content": text} for n in range(40))))
    assert told.startswith("40 pages: 40 added, 0 times and 40 texts")


def test_pages_are_switched_in_parts_and_back_and_times_stay(shell: Shell) -> None:
    rows = [{"url": url(number), "content": "one two", "lists": ["L"] if number < 3 else []} for number in range(200)]
    shell.says("migrate", "import", "-", given=lines(*rows))
    assert "200 pages are the other system's, 0 ours" in shell.says("migrate", "status")
    assert shell.says("migrate", "switch", "--from-page", "w1", "--to-page", "w2").startswith("2 pages are ours")
    assert shell.json("migrate", "switch", "--list", "L") == {"looked": 3, "switched": 1}
    few = shell.json("migrate", "switch", "--percent", "10")["looked"]
    assert 5 < few < 40
    shell.says("migrate", "switch", "--all")
    assert shell.json("migrate", "status")["ours"] == 200

    shell.wait(3600)
    job = next(one for one in shell.claim(100) if one["pageId"] == "w1")
    event = shell.done(job, "changed", **changed("one two", "one three"))["eventId"]
    row, cursor = map(json.loads, shell.says("migrate", "updates").splitlines())
    assert (row["pageId"], row["url"]) == ("w1", url(0))
    shell.wait(120)
    settled = json.loads(shell.says("migrate", "updates", "--after", cursor["next"]).splitlines()[-1])
    assert settled == {"next": event}
    assert shell.says("migrate", "updates", "--after", event) == f'{{"next": "{event}"}}\n'
    assert shell.says("migrate", "back", "--all").startswith("200 pages are the other system's")
    assert shell.page("w1")["updatedAt"] == row["updatedAt"]
    assert shell.claim(100) == []


def test_times_of_the_other_system_are_taken_and_the_newest_wins(shell: Shell, tmp_path: Path) -> None:
    shell.says("migrate", "import", "-", given=lines({"url": url(1)}, {"url": url(2)}))
    early, late = ((shell.clock() - timedelta(hours=hours)).isoformat() for hours in (5, 2))
    file = tmp_path / "updates.jsonl"
    file.write_text(
        lines(
            {"url": url(1), "updatedAt": late}, {"pageId": "w2", "updatedAt": early}, {"url": url(9), "updatedAt": late}
        )
    )
    assert shell.says("migrate", "updates", "--take", str(file)).startswith(
        "2 times were newer than ours, 0 were not, 1 "
    )
    assert shell.says("migrate", "updates", "--take", str(file)).startswith("0 times were newer than ours, 2 were not")
    refusal = shell.refuses("migrate", "updates", "--take", "-", given=lines({"url": url(1), "updatedAt": "x"}))
    assert refusal.startswith("-:1: updatedAt")


def test_rehearsal_sizes_the_workers_and_changes_nothing(shell: Shell) -> None:
    shell.says("migrate", "import", "-", given=lines(*({"url": url(number)} for number in range(100))))
    before = shell.json("pages")
    shell.wait(3600)
    limits = ("--minutes", "0.05", "--page-ms", "100", "--concurrency", "8")
    said = shell.json("migrate", "rehearse", *limits)
    assert 0 < said["pages"] <= 100
    assert (said["places"], said["visitsPerDay"], said["workers"]) == (8, 100, 1)
    assert 0 < said["fullPagesPerMinute"] <= 8 * 600
    assert said["pagesPerMinute"] <= said["fullPagesPerMinute"] + 0.1
    assert [one["counters"] for one in shell.json("pages")] == [one["counters"] for one in before]
    assert shell.json("migrate", "status")["rehearsal"]["processing"] == 0


def test_rehearsal_without_a_page_that_is_due_says_so(shell: Shell) -> None:
    result = shell.run("migrate", "rehearse", "--minutes", "0.01")
    assert isinstance(result.exception, CliError)
    assert "no page was due" in str(result.exception)
    assert "--token-file" in shell.refuses("migrate", "rehearse", "--ledger-url", "http://127.0.0.1:1")
    assert shell.run("migrate", "rehearse", "--minutes", "0").exit_code == 2


def test_switches_that_cannot_be_meant_are_refused(shell: Shell) -> None:
    shell.says("migrate", "import", "-", given=lines({"url": url(1)}))
    for arguments, words in [
        (("switch", "--from-page", "first"), "fromPage"),
        (("switch", "--list", "none"), "no list 'none'"),
        (("back", "--to-page", "x"), "toPage"),
        (("updates", "--after", "x"), "after"),
        (("updates", "--take", "/none/there"), "/none/there"),
    ]:
        assert words in shell.refuses("migrate", *arguments), arguments
    for command in ("switch", "back"):
        refusal = shell.refuses("migrate", command)
        assert all(option in refusal for option in ("--all", "--percent", "--list", "--from-page", "--to-page"))
        assert "--all" in shell.refuses("migrate", command, "--all", "--percent", "50")
    assert shell.run("migrate", "switch", "--percent", "0").exit_code == 2
    assert shell.json("migrate", "status")["oldSystem"] == 1


def test_page_of_the_other_system_says_so_until_it_is_ours(shell: Shell) -> None:
    shell.says("migrate", "import", "-", given=lines({"url": url(1)}))
    switch = "migrate switch --from-page w1 --to-page w1"
    shown = shell.says("show", "w1")
    assert "the other system visits it" in shown
    assert f"`comity watch {switch}`" in shown
    assert "next visit" not in shown
    result = shell.run("now", "w1")
    assert isinstance(result.exception, CliError)
    assert (result.exception.exit_code, "the other system visits it" in str(result.exception)) == (1, True)
    shell.says(*switch.split())
    assert "next visit" in shell.says("show", "w1")
    assert "other system" not in shell.says("show", "w1")
    assert shell.says("now", "w1") == "w1 is next of its host\n"
