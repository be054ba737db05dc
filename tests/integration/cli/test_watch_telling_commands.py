"""`comity watch channels …` and `comity watch feeds …` against a real ledger and a real receiver."""

from collections.abc import Iterator
from pathlib import Path

import feedparser
import httpx
import pytest

from comity.watch.rules.webhook import secret_bytes, verified
from tests.fakes.webhook_receiver import Receiver, receiver
from tests.integration.cli.watch_desk import Shell, shell_at
from tests.integration.ledger.watching import changed, content

NEWS = "https://a.example/news"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    with shell_at(tmp_path, monkeypatch) as running:
        yield running


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as here:
        yield here


def change(shell: Shell, before: str, after: str) -> None:
    """The page says something else."""
    shell.says("now", NEWS)
    shell.wait(3600)
    shell.done(shell.only(), "changed", **changed(before, after))
    for _ in range(10):
        if not shell.desk.parts.teller.one_look():
            break


def test_channel_is_added_tried_told_switched_off_and_removed(shell: Shell, hook: Receiver) -> None:
    shell.says("add", NEWS, "--list", "Mine")
    shell.wait(60)
    shell.done(shell.only(), "first", content=content("one"))
    made = shell.says("channels", "add", hook.url, "--name", "mine", "--list", "Mine", "--kind", "changed")
    secret = made.rpartition("this once: ")[2].strip()
    assert shell.says("channels", "test", "mine") == "taken\n"
    change(shell, "one", "two")
    assert [body["type"] for body in hook.bodies()] == ["watch.test", "watch.changed"]
    assert all(
        verified(headers, body, now=shell.clock(), secret=secret_bytes(secret)) for headers, body in hook.got[1:]
    )
    (row,) = shell.json("channels", "list")
    assert (row["name"], row["kinds"], row["waiting"], row["enabled"]) == ("mine", ["changed"], 0, True)
    assert "mine" in shell.says("channels", "list")
    assert secret not in shell.says("channels", "list")
    assert f"{row['listId']} Mine" in shell.says("channels", "list")
    (message,) = shell.json("channels", "messages", "mine")
    assert (message["state"], message["kind"]) == ("sent", "changed")
    assert "sent" in shell.says("channels", "messages", row["channelId"])

    renewed = shell.says("channels", "secret", "mine", "--old-for", "0").rpartition("this once: ")[2].strip()
    assert renewed != secret
    assert shell.says("channels", "disable", "mine").endswith("off\n")
    change(shell, "two", "three")
    assert shell.says("channels", "enable", "mine").endswith("on\n")
    change(shell, "three", "four")
    headers, body = hook.got[-1]
    assert len(hook.got) == 3
    assert "+four" in hook.bodies()[-1]["data"]["events"][0]["diff"]
    assert verified(headers, body, now=shell.clock(), secret=secret_bytes(renewed))
    assert not verified(headers, body, now=shell.clock(), secret=secret_bytes(secret))
    assert shell.says("channels", "rm", "mine") == f"{row['channelId']} removed\n"
    assert shell.json("channels", "list") == []


def test_receiver_that_does_not_take_a_test_is_said(shell: Shell, hook: Receiver) -> None:
    shell.says("channels", "add", hook.url, "--quiet", "22:00-07:00@Europe/Berlin")
    (row,) = shell.json("channels", "list")
    assert row["quiet"] == {"begin": "22:00", "end": "07:00", "zone": "Europe/Berlin"}
    hook.answers = [(500, {})]
    result = shell.run("channels", "test", row["channelId"])
    assert "not taken: HTTP 500" in str(result.exception)


def test_channels_that_cannot_be_meant_are_refused(shell: Shell) -> None:
    for arguments, words in [
        (("add", "http://10.0.0.1/hook"), "target"),
        (("add", "ftp://x.example/"), "target"),
        (("add", "https://x.example/", "--kind", "gone"), "--kind: 'gone' is none of changed, failing, recovered"),
        (("add", "https://x.example/", "--quiet", "night"), "--quiet"),
        (("add", "https://x.example/", "--quiet", "22:00-07:00@Mars/Base"), "no time zone"),
        (
            ("add", "https://x.example/", "--quiet", "25:00-07:00@UTC"),
            "--quiet: begin: '25:00' is no time of day; write it as HH:MM",
        ),
        (("add", "https://x.example/", "--list", "none"), "no list 'none'"),
        (("add", "https://x.example/", "--page", NEWS), "nobody watches"),
        (("test", "none"), "no channel 'none'"),
        (("secret", "none"), "no channel 'none'"),
        (("enable", "none"), "no channel 'none'"),
        (("disable", "none"), "no channel 'none'"),
        (("messages", "none"), "no channel 'none'"),
        (("rm", "none"), "no channel 'none'"),
    ]:
        assert words in shell.refuses("channels", *arguments), arguments
    assert shell.json("channels", "list") == []


def test_feed_addresses_answer_until_they_are_taken_back(shell: Shell) -> None:
    shell.says("add", NEWS, "--list", "Mine")
    shell.wait(60)
    shell.done(shell.only(), "first", content=content("one"), title="The <news>")
    change(shell, "one", "two")
    ident, *lines = shell.says("feeds", "add", "--list", "Mine").splitlines()
    addresses = dict(line.split() for line in lines)
    assert list(addresses) == ["Atom", "RSS", "JSON"]
    for name in ("Atom", "RSS"):
        read = feedparser.parse(httpx.get(addresses[name], trust_env=False).content)
        assert not read.bozo
        assert [entry.link for entry in read.entries] == [NEWS]
    assert httpx.get(addresses["JSON"], trust_env=False).json()["items"][0]["url"] == NEWS
    (row,) = shell.json("feeds", "list")
    assert row["feedId"] == ident
    assert row["lastReadAt"] is not None
    assert ident in shell.says("feeds", "list")
    assert f"{row['listId']} Mine" in shell.says("feeds", "list")
    assert shell.says("feeds", "rm", ident) == f"{ident} removed\n"
    gone = httpx.get(addresses["Atom"], trust_env=False)
    assert (gone.status_code, gone.json()["error"].partition(":")[0]) == (404, "no feed has this address")
    assert "give one of them" in shell.refuses("feeds", "add")
    assert "give one of them" in shell.refuses("feeds", "add", "--list", "Mine", "--page", NEWS)
    assert shell.refuses("feeds", "rm", ident) == f"no feed '{ident}': `comity watch feeds list` shows what there is"
