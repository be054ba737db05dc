"""`comity watch add|import|export|pages|show|diff|now|pause|resume|rm` and lists, against a real ledger."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.cli.errors import CliError
from tests.integration.cli.watch_desk import Shell, shell_at
from tests.integration.ledger.watching import OFFERS, changed, content

NEWS, TEA = "https://a.example/news", "https://b.example/tea"
OPML = b"""<?xml version="1.0"?><opml version="2.0"><body>
<outline text="Harbours"><outline type="link" text="News &amp; more" url="https://a.example/news"/>
<outline type="rss" text="Feed" xmlUrl="https://c.example/feed.xml" htmlUrl="https://c.example/"/></outline>
<outline type="link" text="file" url="file:///etc/passwd"/></body></opml>"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    with shell_at(tmp_path, monkeypatch) as running:
        yield running


def test_pages_are_added_with_their_settings_and_join_lists(shell: Shell) -> None:
    told = shell.says(
        *("add", NEWS, TEA, "--list", "Mine", "--label", "x", "--every", "6h", "--selector", "#latest"),
        *("--ignore", "^Ad:", "--any-order", "--mask-digits"),
    )
    assert told == f"w1  {NEWS}\nw2  {TEA}\n2 added, 0 were watched already\n"
    settings = shell.page("w1")["settings"]
    assert settings["watched"] == {"kind": "selector", "selector": "#latest"}
    assert settings["fixedIntervalMs"] == 6 * 3_600_000
    assert (settings["ignore"], settings["orderCounts"], settings["maskDigits"]) == (["^Ad:"], False, True)
    again = shell.json("add", NEWS, "--list", "Other")
    assert (again["pageIds"], again["added"], again["known"]) == (["w1"], 0, ["w1"])
    lists = {one["name"]: one for one in shell.json("lists")}
    assert {name: one["pages"] for name, one in lists.items()} == {"Mine": 2, "Other": 1}
    assert set(shell.page("w1")["lists"]) == {one["listId"] for one in lists.values()}


def test_options_of_a_page_that_is_watched_already_are_not_dropped_in_silence(shell: Shell) -> None:
    shell.says("add", NEWS, "--selector", "#latest")
    out, said = shell.in_part("add", NEWS, TEA, "--every", "1h", "--ignore", "^Ad: .*", "--label", "x")
    assert out == f"w1  {NEWS}\nw2  {TEA}\n1 added, 1 were watched already\n"
    command = "comity watch set w1 --every 1h --ignore '^Ad: .*'"
    assert said == f"w1: already watched; its settings were not changed: {command}\n"
    assert shell.page("w1")["settings"].get("fixedIntervalMs") is None
    assert shell.page("w1")["labels"] == ["x"]
    shell.says(*shlex.split(command)[2:])
    assert shell.says("add", NEWS, "--every", "1h").endswith("0 added, 1 were watched already\n")
    assert "--title 'My news'" in shell.in_part("add", NEWS, "--title", "My news")[1]


def test_settings_of_watched_pages_are_changed_and_what_is_not_given_stays(shell: Shell) -> None:
    shell.says("add", NEWS, TEA, "--selector", "#latest", "--ignore", "^Ad:", "--label", "x")
    told = shell.says("set", NEWS, "w2", "w1", "--every", "6h", "--any-order").splitlines()
    assert told[:3] == [f"w1  {NEWS}", "  --every: none -> 6h", "  --any-order: no -> yes"]
    assert told[3].startswith("  from the next visit on, ")
    assert told[4] == f"w2  {TEA}"
    for ident in ("w1", "w2"):
        settings = shell.page(ident)["settings"]
        assert settings["watched"] == {"kind": "selector", "selector": "#latest"}
        assert (settings["fixedIntervalMs"], settings["ignore"], settings["orderCounts"]) == (
            6 * 3_600_000,
            ["^Ad:"],
            False,
        )
    after = shell.says("set", "w1", "--max", "2d", "--main", "--ignore", "", "--label", "", "--title", "News")
    assert "  watched: selector #latest -> main content" in after
    assert "  --every: 6h -> none" in after
    assert "  --max: none -> 2d" in after
    assert "  --label: x -> none" in after
    assert "  --title: none -> News" in after
    page = shell.page("w1")
    assert (page["labels"], page["title"], page["settings"]["maxIntervalMs"]) == ([], "News", 2 * 86_400_000)
    assert (page["settings"]["ignore"], page["settings"]["orderCounts"]) == ([], False)
    assert "nothing changed" in shell.says("set", "w1", "--any-order")
    assert shell.json("set", "w1", "--no-any-order", "--max", "none")[0]["settings"]["orderCounts"] is True


def test_changes_that_cannot_be_meant_are_refused_and_change_nothing(shell: Shell) -> None:
    shell.says("add", NEWS, TEA)
    before = shell.json("pages")
    for arguments, words in (
        (("w1",), "give at least one of --title, --label, --every"),
        (("w1", "w99", "--every", "1h"), "w99"),
        (("w1", "--every", "soon"), "--every: 'soon' is no time"),
        (("w1", "--every", "1h", "--min", "1h"), "fixedInterval"),
        (("w1", "--main", "--selector", "p"), "give one of them"),
        (("w1", "--field", "price"), "--field: goes with --extractor"),
        (("w1", "--selector", ":::"), "selector"),
        (("w1", "--ignore", "("), "ignore"),
        (("https://c.example/", "--every", "1h"), "nobody watches"),
    ):
        assert words in shell.refuses("set", *arguments), arguments
    assert shell.json("pages") == before


def test_fields_of_an_extractor_are_watched_by_its_newest_version_or_a_named_one(shell: Shell) -> None:
    shell.desk.post("/api/extractors", {"id": "offers", "source": OFFERS}, 201)
    shell.says("add", NEWS, "--extractor", "offers", "--field", "price")
    shell.says("add", TEA, "--extractor", "offers@1")
    offers = {"kind": "extractor", "id": "offers", "version": 1}
    assert shell.page("w1")["settings"]["watched"] == {**offers, "fields": ["price"]}
    assert shell.page("w2")["settings"]["watched"] == {**offers, "fields": []}
    for command in (("add", "https://c.example/"), ("preview", NEWS)):
        for arguments, words in (
            (("--extractor", "other"), "there is no extractor 'other'"),
            (("--extractor", "offers@2"), "watched.version: offers has no version 2"),
            (("--extractor", "offers@x"), "no ID@VERSION"),
            (("--extractor", "offers", "--field", "colour"), "fields.0: it has no field 'colour'"),
            (("--field", "price"), "--field: goes with --extractor"),
            (("--extractor", "offers", "--whole"), "give one of them"),
        ):
            assert words in shell.refuses(*command, *arguments), (command, arguments)
    assert len(shell.json("pages")) == 2


MEANINGLESS = [
    (("add", NEWS, "ftp://x.example/"), "'ftp://x.example/' is not an http(s) address"),
    (("add", NEWS, "--every", "soon"), "--every: 'soon' is no time"),
    (("add", NEWS, "--every", "1h", "--min", "1h"), "fixedInterval"),
    (("add", NEWS, "--min", "2d", "--max", "1h"), "minInterval"),
    (("add", NEWS, "--ignore", "("), "ignore"),
    (("add", NEWS, "--selector", ":::"), "selector"),
    (("add", NEWS, "--whole", "--selector", "p"), "give one of them"),
    (("add", NEWS, "--title", "x" * 1001), "title"),
    (("add", NEWS, "--label", ""), "label"),
    (("add", NEWS, "--list", "x" * 300), "list"),
    (("show", "w99"), "no page 'w99': `comity watch pages` shows"),
    (("show", NEWS), "nobody watches"),
    (("diff", NEWS), "nobody watches"),
    (("rm", "w99"), "no page 'w99': `comity watch pages` shows"),
    (("now", "w99"), "no page 'w99': `comity watch pages` shows"),
    (("pause", "w99"), "no page 'w99': `comity watch pages` shows"),
    (("list", "none"), "no list 'none'"),
    (("rm-list", "none"), "no list 'none'"),
    (("export", "--as", "xlsx"), "--as"),
    (("export", "--list", "none"), "no list 'none'"),
    (("import", "/none/there"), "/none/there"),
    (("import", "-", "--as", "xlsx"), "--as"),
]


def test_what_cannot_be_meant_is_refused_and_changes_nothing(shell: Shell) -> None:
    for arguments, words in MEANINGLESS:
        assert words.lower() in shell.refuses(*arguments).lower(), arguments
    assert shell.json("pages") == []
    assert shell.json("lists") == []


def test_page_is_paused_resumed_hurried_and_removed(shell: Shell) -> None:
    shell.says("add", NEWS)
    assert "paused" in shell.says("pause", NEWS)
    assert shell.claim() == []
    assert "new" in shell.says("resume", "w1")
    assert shell.says("now", "w1") == "w1 is next of its host\n"
    shell.wait(60)
    job = shell.only()
    assert shell.says("now", "w1") == "w1 is being visited just now\n"
    shell.done(job, "first", content=content("one"))
    assert shell.says("rm", NEWS) == "w1 removed\n"
    assert shell.json("pages") == []


def test_page_is_shown_with_visits_changes_and_why_it_is_visited_next(shell: Shell) -> None:
    shell.says("add", NEWS, "--list", "Mine")
    shell.wait(60)
    shell.done(shell.only(), "first", content=content("one"), title="The \x1b[31mnews")
    assert "no change was found yet" in shell.refuses("diff", NEWS)
    shell.says("now", NEWS)
    shell.wait(3600)
    event = shell.done(shell.only(), "changed", **changed("one", "two"))["eventId"]
    told = shell.says("show", NEWS)
    assert "2 visits, 1 changes" in told
    assert "because" in told
    assert f"{event}  " in told
    assert "\x1b" not in told
    assert shell.json("show", "w1")["events"][0]["eventId"] == event
    assert shell.says("diff", NEWS) == "@@ -1,1 +1,1 @@\n-one\n+two\n"
    assert "<" in shell.says("diff", NEWS, event, "--html")
    assert shell.json("diff", "w1", event)["eventId"] == event
    assert "e999" in shell.refuses("diff", NEWS, "e999")
    listed = shell.says("list", "Mine")
    assert NEWS in listed
    assert "1 pages: 1 seen within an hour" in listed
    assert shell.json("list", "Mine")["pages"][0]["pageId"] == "w1"
    shell.says("rm-list", "Mine")
    assert shell.json("lists") == []
    assert [one["pageId"] for one in shell.json("pages")] == ["w1"]


def test_opml_is_imported_and_what_cannot_be_watched_is_named(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "reader.opml"
    file.write_bytes(OPML)
    out, said = shell.in_part("import", str(file), "--label", "reader")
    assert out == "2 added, 0 were watched already, 1 left out\n"
    assert said == f"{file}:3: 'file:///etc/passwd' is not an http(s) address\n"
    pages = {one["url"]: one for one in shell.json("pages")}
    assert (pages[NEWS]["title"], pages[NEWS]["labels"]) == ("News & more", ["reader"])
    assert set(pages) == {NEWS, "https://c.example/"}
    assert [(one["name"], one["pages"]) for one in shell.json("lists")] == [("Harbours", 2)]
    hostile = b'<!DOCTYPE o [<!ENTITY a "b">]><opml><body><outline url="http://x.example/&a;"/></body></opml>'
    out, said = shell.in_part("import", "-", given=hostile)
    assert out == "0 added, 0 were watched already, 1 left out\n"
    assert "entities, which are refused" in said


def test_csv_and_plain_addresses_are_imported(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "pages.csv"
    file.write_text(f"title,url,lists\n港,{NEWS},Mine;Yours\n,{TEA},\nbroken,nothing,\n")
    out, said = shell.in_part("import", str(file))
    assert out == "2 added, 0 were watched already, 1 left out\n"
    assert said.startswith(f"{file}:4: 'nothing'")
    assert shell.page("w1")["title"] == "港"
    told = shell.says("import", "-", "--list", "Mine", given=f"# mine\n{TEA}\n\nhttps://d.example/\n")
    assert told == "1 added, 1 were watched already, 0 left out\n"
    assert {one["name"]: one["pages"] for one in shell.json("lists")} == {"Mine": 3, "Yours": 1}
    assert "is not UTF-8" in shell.refuses("import", "-", "--as", "csv", given=b"url\nhttp://\xff/\n")


def test_one_page_that_the_ledger_refuses_stops_no_other(shell: Shell) -> None:
    urls = f"{NEWS}\nhttps://w.example/{'y' * 3000}\nhttps://x.example/{'y' * 3000}\n{TEA}\n"
    out, said = shell.in_part("import", "-", given=urls)
    assert out.startswith("2 added, 0 were watched already, 2 left out")
    assert said.count("\n") == 2
    assert said.startswith("-:2: ")
    assert [one["url"] for one in shell.json("pages")] == [NEWS, TEA]


@pytest.mark.parametrize("form", ["opml", "csv", "urls"])
def test_what_was_exported_is_imported_the_same(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    shell.says("add", NEWS, "--title", '=1+1 & "港" <b>', "--list", "Mine", "--list", "Yours", "--label", "x")
    shell.says("add", TEA)
    written = shell.says("export", "--as", form)
    only = shell.says("export", "--as", form, "--list", "Mine")
    assert TEA in written
    assert TEA not in only
    assert NEWS in only
    with shell_at(tmp_path / "other", monkeypatch) as other:
        assert "2 added" in other.says("import", "-", "--as", form, given=written)
        pages = {one["url"]: one for one in other.json("pages")}
        assert set(pages) == {NEWS, TEA}
        if form != "urls":
            assert pages[NEWS]["title"] == '=1+1 & "港" <b>'
            assert pages[NEWS]["labels"] == ["x"]
            assert sorted(one["name"] for one in other.json("lists")) == ["Mine", "Yours"]
        assert other.says("export", "--as", form) == written


def test_lists_of_the_same_name_are_told_apart_by_their_ids(shell: Shell) -> None:
    made = [shell.desk.post("/api/watch/lists", {"name": "Twins"}, 201)["listId"] for _ in range(2)]
    refusal = shell.refuses("list", "Twins")
    assert all(one in refusal for one in made)
    assert json.loads(shell.says("list", made[0], "--json"))["pages"] == []


def test_page_that_our_address_policy_refuses_is_not_said_to_be_unwanted_by_its_site(shell: Shell) -> None:
    shell.says("add", NEWS, TEA)
    shell.wait(60)
    reason = "robots-unreachable: a.example is 10.0.0.1: not of the public web; COMITY_ALLOW_PRIVATE=10.0.0.1:443 would"
    for job in shell.claim(2):
        more = {"reason": reason} if job["url"] == NEWS else {}
        shell.done(job, "skipped", visited=False, **more)
    shown = shell.says("show", NEWS)
    assert "because the workers' address policy keeps them away" in shown
    assert "--allow-private HOST:PORT" in shown
    assert "does not want" not in shown
    assert "the site does not want it visited now" in shell.says("show", TEA)


def test_worker_with_a_token_of_the_wrong_kind_says_which_is_needed(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COMITY_ALLOW_PRIVATE", "COMITY_DENY"):
        monkeypatch.setenv(name, "")  # the command sets them in this process
    for command in (("run",), ("migrate", "rehearse", "--minutes", "1")):
        for token, words in ((shell.desk.token, "a token of role `flows` is needed"), ("nobody", "401")):
            file = tmp_path / "token"
            file.write_text(token)
            result = shell.run(*command, "--ledger-url", shell.desk.url, "--token-file", str(file))
            assert isinstance(result.exception, CliError), (command, result.output)
            said = str(result.exception)
            assert words in said
            assert f"--token-file {file}" in said
            assert "check the id" not in said
        if command == ("run",):
            assert "of the public web alone (--allow-private HOST:PORT opens more)" in result.stderr
