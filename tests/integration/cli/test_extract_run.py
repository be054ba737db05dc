"""`comity extract run` and `schema` as a person and a program meet them; what was sent is read from the web's log."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from comity.cli.main import main
from tests.integration.extract.web import Answer, Request, Web, page, serving
from tests.unit.cli.test_command import comity

VERSIONS = 'version="2026-07-15" language-version="2026-07-15"'


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as started:
        yield started


@pytest.fixture
def other_web() -> Iterator[Web]:
    with serving("127.0.0.2") as started:
        yield started


def kept(folder: Path, url: str, *, session: str = "none", mode: str = "http") -> str:
    """A program that is kept as a file, and its name."""
    (folder / "things.kdl").write_text(
        f"""extractor "things" {VERSIONS} {{
  source "html" {{ fetch mode="{mode}" url="{url}"; session policy="{session}" }}
  input "id" type="int"
  input "tag" type="string" required=#false default="none"
  field "title" type="string" required=#true {{ select "h1"; value "text" }}
  field "price" type="float" {{ select ".price"; value "text"; apply "parse-float" as="float"; on-error "warn" }}
  collection "parts" {{
    select "li"
    field "name" type="string" required=#true {{ value "text" }}
  }}
}}
""",
        encoding="utf-8",
    )
    return "things.kdl"


def thing(number: int, price: str = "1.5") -> Answer:
    return page(f"<h1>Thing {number}</h1><i class=price>{price}</i><li>a,b<li>日本")


COMMAND = [sys.executable, "-m", "comity.cli.main", "extract", "run"]


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


def in_process_of_its_own(folder: Path, *arguments: str, given: str = "") -> Done:
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, input=given, capture_output=True, text=True, timeout=120, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, which costs a tenth of one of its own."""

    def run_here(folder: Path, *arguments: str, given: str = "") -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["comity", "extract", "run", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return run_here


def test_one_page_gives_one_document(web: Web, tmp_path: Path) -> None:
    web.pages["/7"] = thing(7)
    done = in_process_of_its_own(
        tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), "--input", "id=7", "--allow-private-hosts"
    )
    assert (done.returncode, done.stderr) == (0, "")
    value = {"title": "Thing 7", "price": 1.5, "parts": [{"name": "a,b"}, {"name": "日本"}]}
    assert json.loads(done.stdout) == {"value": value, "warnings": [], "partial": False}
    assert web.paths == ["/7"]


def test_what_was_recovered_is_told_and_is_no_failure(run: Run, web: Web, tmp_path: Path) -> None:
    web.pages["/7"] = thing(7, price="much")
    done = run(tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), "--input", "id=7", "--allow-private-hosts")
    assert done.returncode == 0
    assert json.loads(done.stdout)["partial"] is True
    assert done.stderr.startswith("W_ERROR_RECOVERED at output.price")


def test_a_page_without_a_result_is_told_twice(run: Run, web: Web, tmp_path: Path) -> None:
    done = run(tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), "--input", "id=7", "--allow-private-hosts")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "E_HTTP_STATUS"
    assert done.stderr.startswith("E_HTTP_STATUS at source.fetch: ")


def test_only_the_public_web_is_visited_unless_asked(run: Run, web: Web, tmp_path: Path) -> None:
    done = run(tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), "--input", "id=7")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "E_URL_POLICY"
    assert web.asked == []


def test_a_program_with_three_mistakes_sends_nothing(web: Web, tmp_path: Path) -> None:
    """The three are drawn at their columns on standard error, and nothing is on standard output."""
    source = (
        f'extractor "things" {VERSIONS} {{\n'
        f'  source "html" {{ fetch mode="http" url="{web.url}/" }}\n'
        '  field "a" type="string" required=#true { select "p:hover"; value "text" }\n'
        '  field "b" type="u7" required=#true { select "p"; value "text" }\n'
        '  field "c" type="string" required=#true { select "p"; value "text"; apply "shout" }\n'
        "}\n"
    )
    (tmp_path / "wrong.kdl").write_text(source, encoding="utf-8")
    done = in_process_of_its_own(tmp_path, "wrong.kdl", "--allow-private-hosts")
    assert (done.returncode, done.stdout) == (1, "")
    heads = [line.split(": ")[0] for line in done.stderr.splitlines() if ": error E_" in line]
    assert heads == ["wrong.kdl:3:44", "wrong.kdl:4:3", "wrong.kdl:5:70"]
    codes = [word for word in done.stderr.split() if word.startswith("E_")]
    assert codes == ["E_SELECTOR_UNSUPPORTED", "E_TYPE_UNKNOWN", "E_TRANSFORM_UNKNOWN"]
    assert "3 mistakes; nothing was sent" in done.stderr
    assert web.asked == []


def test_a_page_that_is_there_sends_nothing(web: Web, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(thing(3).body)
    name = kept(tmp_path, f"{web.url}/{{id}}")
    done = in_process_of_its_own(tmp_path, name, "--html", "page.html")
    assert (done.returncode, json.loads(done.stdout)["value"]["title"]) == (0, "Thing 3")
    piped = in_process_of_its_own(tmp_path, name, "--html", "-", given="<h1>Piped</h1>")
    assert json.loads(piped.stdout)["value"] == {"title": "Piped", "price": None, "parts": []}
    assert web.asked == []


def test_schema_describes_what_run_gives(run: Run, web: Web, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(thing(3, price="much").body)
    name = kept(tmp_path, f"{web.url}/{{id}}")
    printed = comity("extract", "schema", name, cwd=tmp_path)
    assert printed.returncode == 0
    validator = Draft202012Validator(json.loads(printed.stdout))
    result = json.loads(run(tmp_path, name, "--html", "page.html").stdout)
    assert list(validator.iter_errors(result)) == []
    result["value"]["price"] = "much"
    assert [error.json_path for error in validator.iter_errors(result)] == ["$.value.price"]


def test_another_page_may_be_named(run: Run, web: Web, tmp_path: Path) -> None:
    web.pages["/elsewhere"] = thing(9)
    name = kept(tmp_path, "https://example.invalid/{id}")
    done = run(tmp_path, name, "--url", f"{web.url}/elsewhere", "--allow-private-hosts")
    assert (done.returncode, json.loads(done.stdout)["value"]["title"]) == (0, "Thing 9")


def test_many_inputs_give_rows_in_the_order_of_the_file(run: Run, web: Web, tmp_path: Path) -> None:
    web.pages |= {"/1": thing(1), "/3": thing(3), "/robots.txt": Answer(b"", "text/plain", 404)}
    (tmp_path / "ids.csv").write_text("id,tag\n1,x\n2,\n3,y\n", encoding="utf-8")
    name = kept(tmp_path, f"{web.url}/{{id}}")
    options = ["--inputs", "ids.csv", "--allow-private-hosts", "--per-host-delay-ms", "150"]
    done = run(tmp_path, name, *options, "--jsonl")
    assert done.returncode == 1  # the second is not there
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["page"], one["inputs"]) for one in lines] == [
        (1, {"id": 1, "tag": "x"}),
        (2, {"id": 2}),
        (3, {"id": 3, "tag": "y"}),
    ]
    assert [one.get("value", {}).get("title") for one in lines] == ["Thing 1", None, "Thing 3"]
    assert lines[1]["error"]["code"] == "E_HTTP_STATUS"
    assert "one page at a time of each with 150 ms in between; robots.txt is kept" in done.stderr
    assert f"page 2 {web.url}/2: E_HTTP_STATUS" in done.stderr
    assert "2 of 3 pages read; 1 failed: E_HTTP_STATUS 1" in done.stderr
    assert web.paths == ["/robots.txt", "/1", "/2", "/3"]
    gaps = [later.at - earlier.at for earlier, later in pairwise(web.asked[1:])]
    assert min(gaps) >= 0.15


def test_results_keep_the_order_of_the_file_over_hosts(run: Run, web: Web, other_web: Web, tmp_path: Path) -> None:
    web.pages["/1"] = page("<h1>slow</h1>", wait_s=0.5)
    other_web.pages["/1"] = page("<h1>quick</h1>")
    (tmp_path / "urls.txt").write_text(f"# two hosts\n{web.url}/1\n\n{other_web.url}/1\n", encoding="utf-8")
    name = kept(tmp_path, "https://example.invalid/{id}")
    done = run(tmp_path, name, "--urls", "urls.txt", "--allow-private-hosts", "--ignore-robots", "--json")
    assert [one["value"]["title"] for one in json.loads(done.stdout)] == ["slow", "quick"]
    assert (web.paths, other_web.paths) == (["/1"], ["/1"])
    assert "robots.txt is not asked" in done.stderr


def test_csv_has_a_line_for_each_page_or_for_each_row(run: Run, web: Web, tmp_path: Path) -> None:
    web.pages |= {"/1": thing(1), "/2": page("<h1>Nothing in it</h1>")}
    (tmp_path / "ids.jsonl").write_text('{"id": 1}\n{"id": 2}\n{"id": 3}\n', encoding="utf-8")
    name = kept(tmp_path, f"{web.url}/{{id}}")
    options = ["--inputs", "ids.jsonl", "--allow-private-hosts", "--ignore-robots", "--per-host-delay-ms", "0"]

    def cells(*more: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(run(tmp_path, name, *options, "--csv", *more).stdout)))

    whole = cells()
    assert [(one["id"], one["title"], one["price"], one["error_code"]) for one in whole] == [
        ("1", "Thing 1", "1.5", ""),
        ("2", "Nothing in it", "", ""),
        ("3", "", "", "E_HTTP_STATUS"),
    ]
    assert json.loads(whole[0]["parts"]) == [{"name": "a,b"}, {"name": "日本"}]
    rows = cells("--rows", "parts")
    assert [(one["id"], one["title"], one["parts.name"]) for one in rows] == [
        ("1", "Thing 1", "a,b"),
        ("1", "Thing 1", "日本"),
        ("3", "", ""),
    ]
    wrong = run(tmp_path, name, *options, "--csv", "--rows", "things")
    assert wrong.returncode == 2
    assert "the collections there are: parts" in wrong.stderr


def test_a_robots_txt_holds(run: Run, web: Web, tmp_path: Path) -> None:
    rules = b"User-agent: comity\nDisallow: /2\nCrawl-delay: 0.4\n"
    web.pages |= {"/1": thing(1), "/2": thing(2), "/3": thing(3), "/robots.txt": Answer(rules, "text/plain")}
    (tmp_path / "ids.csv").write_text("id\n1\n2\n3\n", encoding="utf-8")
    name = kept(tmp_path, f"{web.url}/{{id}}")
    options = ["--inputs", "ids.csv", "--allow-private-hosts", "--per-host-delay-ms", "0", "--jsonl"]
    done = run(tmp_path, name, *options)
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[1]["error"]["code"] == "E_POLITENESS"
    assert "robots-disallowed" in lines[1]["error"]["message"]
    assert web.paths == ["/robots.txt", "/1", "/3"]
    assert web.asked[2].at - web.asked[1].at >= 0.4


def test_a_host_that_asks_for_rest_has_it(run: Run, web: Web, tmp_path: Path) -> None:
    asked: list[Request] = []

    def once_busy(request: Request) -> Answer:
        asked.append(request)
        return Answer(status=503, headers={"retry-after": "1"})

    web.pages |= {"/1": once_busy, "/2": thing(2)}
    (tmp_path / "ids.csv").write_text("id\n1\n2\n", encoding="utf-8")
    options = ["--inputs", "ids.csv", "--allow-private-hosts", "--per-host-delay-ms", "0", "--jsonl"]
    done = run(tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), *options)
    assert [json.loads(line).get("value", {}).get("title") for line in done.stdout.splitlines()] == [None, "Thing 2"]
    assert web.asked[-1].at - asked[0].at >= 1


def test_a_host_that_asks_for_too_much_rest_is_left_alone(run: Run, web: Web, tmp_path: Path) -> None:
    web.pages |= {"/1": Answer(status=429, headers={"retry-after": "3600"}), "/2": thing(2)}
    (tmp_path / "ids.csv").write_text("id\n1\n2\n", encoding="utf-8")
    options = ["--inputs", "ids.csv", "--allow-private-hosts", "--ignore-robots", "--jsonl"]
    done = run(tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), *options)
    codes = [json.loads(line)["error"]["code"] for line in done.stdout.splitlines()]
    assert codes == ["E_HTTP_STATUS", "E_POLITENESS"]
    assert web.paths == ["/1"]


def test_a_host_whose_crawl_delay_is_too_long_is_left_alone(run: Run, web: Web, tmp_path: Path) -> None:
    web.pages |= {"/1": thing(1), "/robots.txt": Answer(b"User-agent: *\nCrawl-delay: 3600\n", "text/plain")}
    (tmp_path / "ids.csv").write_text("id\n1\n2\n", encoding="utf-8")
    options = ["--inputs", "ids.csv", "--allow-private-hosts", "--jsonl"]
    done = run(tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), *options)
    errors = [json.loads(line)["error"] for line in done.stdout.splitlines()]
    assert [one["code"] for one in errors] == ["E_POLITENESS"] * 2
    assert "3600000 ms between pages" in errors[0]["message"]
    assert web.paths == ["/robots.txt"]


def test_a_host_that_is_not_there_is_left_alone_after_five_tries(run: Run, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://127.0.0.1:9/\n" * 7, encoding="utf-8")
    options = ["--urls", "urls.txt", "--allow-private-hosts", "--ignore-robots", "--per-host-delay-ms", "0", "--jsonl"]
    done = run(tmp_path, kept(tmp_path, "https://example.invalid/{id}"), *options)
    codes = [json.loads(line)["error"]["code"] for line in done.stdout.splitlines()]
    assert codes == ["E_HTTP_FETCH"] * 5 + ["E_POLITENESS"] * 2


WRONG_FILES: dict[str, tuple[str, str, str]] = {
    "cell that is no integer": ("a.csv", "id\n1\nx\n", "line 3: id: 'x' is not an integer"),
    "unknown column": ("a.csv", "id,color\n1,red\n", "line 2: E_INPUT_UNKNOWN"),
    "row that is too short": ("a.csv", "id,tag\n1\n", "line 2: has 1 cells"),
    "no rows": ("a.csv", "id\n", "has no rows"),
    "value of another type": ("a.jsonl", '{"id": 1}\n{"id": "1"}\n', "line 2: E_INPUT_TYPE"),
    "line that is no object": ("a.jsonl", "[1]\n", "line 1: must be an object"),
    "line that is no JSON": ("a.jsonl", "{\n", "line 1: is not JSON"),
    "name that says nothing": ("a.txt", "id\n1\n", "must end in .csv or .jsonl"),
}


@pytest.mark.parametrize(("file", "text", "said"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_wrong_file_of_inputs_sends_nothing(
    run: Run, web: Web, tmp_path: Path, file: str, text: str, said: str
) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    done = run(tmp_path, kept(tmp_path, f"{web.url}/{{id}}"), "--inputs", file, "--allow-private-hosts")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert web.asked == []


WRONG_OPTIONS: dict[str, tuple[list[str], str]] = {
    "two shapes": (["--json", "--csv"], "--json and --csv do not go together"),
    "two places of pages": (["--url", "https://a.example/", "--html", "x"], "do not go together"),
    "standard input twice": (["--html", "-", "--session", "-"], "only one can be standard input"),
    "rows without csv": (["--rows", "parts"], "--rows goes with --csv"),
    "no value": (["--input", "id"], "write name=value"),
    "an input twice": (["--input", "id=1", "--input", "id=2"], "is given twice"),
    "an input of another type": (["--input", "id=a"], "is not an integer"),
    "a URL that is none": (["--url", "ftp://a/"], "must begin with http"),
    "a page that is not there": (["--html", "nothing.html"], "cannot be read"),
}


@pytest.mark.parametrize(("options", "said"), WRONG_OPTIONS.values(), ids=WRONG_OPTIONS)
def test_options_that_cannot_be_meant_are_told(run: Run, tmp_path: Path, options: list[str], said: str) -> None:
    done = run(tmp_path, kept(tmp_path, "https://example.invalid/{id}"), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


SESSION = {"headers": {"Authorization": "Bearer top-secret"}, "cookies": {"sid": "1"}}


def test_a_session_goes_along_when_nobody_else_can_read_it(run: Run, web: Web, tmp_path: Path) -> None:
    web.pages["/1"] = thing(1)
    name = kept(tmp_path, f"{web.url}/{{id}}", session="required")
    secret = tmp_path / "session.json"
    secret.write_text(json.dumps(SESSION), encoding="utf-8")
    options = [name, "--input", "id=1", "--allow-private-hosts", "--session"]
    secret.chmod(0o640)
    refused = run(tmp_path, *options, "session.json")
    assert (refused.returncode, refused.stdout, web.asked) == (2, "", [])
    assert "chmod 600 session.json" in refused.stderr
    secret.chmod(0o600)
    assert run(tmp_path, *options, "session.json").returncode == 0
    assert run(tmp_path, *options, "-", given=json.dumps(SESSION)).returncode == 0
    assert [one.headers["authorization"] for one in web.asked] == ["Bearer top-secret"] * 2


@pytest.mark.parametrize(
    "text", ["top-secret", '["top-secret"]', '{"headers": {"a": ["top-secret"]}}', '{"cookie": "top-secret"}']
)
def test_a_wrong_session_is_refused_without_being_quoted(run: Run, tmp_path: Path, text: str) -> None:
    name = kept(tmp_path, "https://example.invalid/{id}", session="required")
    done = run(tmp_path, name, "--input", "id=1", "--session", "-", given=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert "it must be" in done.stderr
    assert "top-secret" not in done.stderr


def test_a_required_session_is_asked_for(run: Run, web: Web, tmp_path: Path) -> None:
    name = kept(tmp_path, f"{web.url}/{{id}}", session="required")
    done = run(tmp_path, name, "--input", "id=1", "--allow-private-hosts")
    assert json.loads(done.stdout)["error"]["code"] == "E_SESSION_REQUIRED"
    assert web.asked == []


def test_a_session_never_goes_to_several_hosts(run: Run, web: Web, other_web: Web, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{web.url}/1\n{other_web.url}/1\n", encoding="utf-8")
    name = kept(tmp_path, f"{web.url}/{{id}}", session="optional")
    options = ["--urls", "urls.txt", "--allow-private-hosts", "--session", "-"]
    done = run(tmp_path, name, *options, given=json.dumps(SESSION))
    assert (done.returncode, web.asked, other_web.asked) == (2, [], [])
    assert "2 hosts" in done.stderr


IN_BACKGROUND = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
"""What a script's `&` does to a command."""


@pytest.mark.parametrize(("number", "started_by"), [(signal.SIGINT, []), (signal.SIGTERM, IN_BACKGROUND)])
def test_what_was_read_before_an_interruption_is_written(
    web: Web, tmp_path: Path, number: int, started_by: list[str]
) -> None:
    web.pages |= {"/1": thing(1), "/2": page("", wait_s=600)}
    (tmp_path / "ids.csv").write_text("id\n1\n2\n", encoding="utf-8")
    options = ["--inputs", "ids.csv", "--allow-private-hosts", "--per-host-delay-ms", "0", "--ignore-robots", "--jsonl"]
    options += ["--timeout", "600"]
    command = [*started_by, *COMMAND, kept(tmp_path, f"{web.url}/{{id}}"), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            deadline = time.monotonic() + 150
            while "/2" not in web.paths and time.monotonic() < deadline:
                time.sleep(0.02)
            os.kill(process.pid, number)
            written, said = process.communicate(timeout=150)
        finally:
            process.kill()
    assert process.returncode == 130, said
    found: list[Any] = [json.loads(line) for line in written.splitlines()]
    assert [one["value"]["title"] for one in found] == ["Thing 1"]
    assert "Traceback" not in said


def test_a_browser_program_without_a_stack_names_the_command(run: Run, tmp_path: Path) -> None:
    name = kept(tmp_path, "https://example.invalid/{id}", mode="browser")
    done = run(tmp_path, name, "--input", "id=1", "--data", str(tmp_path / "data"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "comity up" in done.stderr
