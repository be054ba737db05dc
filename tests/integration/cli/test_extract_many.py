"""`comity extract run` over many pages: in order, politely, and what is there when it is interrupted."""

import csv
import io
import json
import os
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.extracting import COMMAND, Run, kept, thing
from tests.integration.extract.web import Answer, Request, Web, page


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
    begin, first, second, end, rest = done.stdout.split("\n")
    assert (begin, first[:8], second[:9], end, rest) == ("[", '{"page":', ',{"page":', "]", "")
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


@pytest.mark.parametrize("by_script", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_read_before_an_interruption_is_written(
    web: Web, tmp_path: Path, number: int, by_script: bool
) -> None:
    """Also where a script's shell started it with `&`, which makes it ignore SIGINT."""
    sigint = signal.SIG_IGN if by_script else signal.default_int_handler
    web.pages |= {"/1": thing(1), "/2": page("", wait_s=600)}
    (tmp_path / "ids.csv").write_text("id\n1\n2\n", encoding="utf-8")
    options = ["--inputs", "ids.csv", "--allow-private-hosts", "--per-host-delay-ms", "0", "--ignore-robots", "--jsonl"]
    options += ["--timeout", "600"]
    command = [*COMMAND, kept(tmp_path, f"{web.url}/{{id}}"), *options]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, sigint),  # noqa: PLW1509 - the child takes no lock
    )
    try:
        deadline = time.monotonic() + 150
        while "/2" not in web.paths and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, number)
        written, said = process.communicate(timeout=150)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, said
    found: list[Any] = [json.loads(line) for line in written.splitlines()]
    assert [one["value"]["title"] for one in found] == ["Thing 1"]
    assert "Traceback" not in said
