"""`comity extract run` and `schema` as a person and a program meet them; what was sent is read from the web's log."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.integration.cli.extracting import VERSIONS, Run, in_process_of_its_own, kept, thing
from tests.integration.extract.web import Web
from tests.unit.cli.test_command import comity


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


def test_a_browser_program_without_a_stack_names_the_command(run: Run, tmp_path: Path) -> None:
    name = kept(tmp_path, "https://example.invalid/{id}", mode="browser")
    done = run(tmp_path, name, "--input", "id=1", "--data", str(tmp_path / "data"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "comity up" in done.stderr
