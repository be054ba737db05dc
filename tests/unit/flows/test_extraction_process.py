"""Programs run in a child process, and no page takes more than the child along."""

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

import flows.extraction_process
from comity.extract import canonical_json, compile, plain  # noqa: A004 - as in `re.compile`
from flows.extraction_process import ExtractionProcess
from flows.rules.extraction import Gave
from tests.fakes.extractor_programs import program

HTML = "<meta charset=shift_jis><title>縁側</title><h1>a</h1><h1>b</h1>".encode()
LINKS = 'collection "links" { select "a"; field "href" type="string" { value "attr" name="href" } }'
SLOW = 'collection "all" { select "div"; field "text" type="string" { value "text" } }'


def ir(source: str) -> str:
    """The program as the ledger pins it."""
    compilation = compile(source)
    assert compilation.program is not None, compilation
    return canonical_json(plain(compilation.program))


@pytest.fixture(scope="module")
def process() -> Iterator[ExtractionProcess]:
    programs = {"title": ir(program()), "links": ir(program("links", LINKS)), "all": ir(program("all", SLOW))}
    with ExtractionProcess(programs | {"other": '{"kind": "extractor"}'}, timeout_s=1, kill_after_s=60) as running:
        yield running


def by_id(process: ExtractionProcess, html: bytes, *extractors: str) -> dict[str, Gave]:
    return dict(process.extract(html, extractors))


def code(gave: Gave) -> str:
    assert gave.error is not None
    return str(gave.error["code"])


def test_each_program_gives_its_value_and_the_captures_are_utf_8_whatever_they_say(process: ExtractionProcess) -> None:
    gave = by_id(process, HTML + b"<a href=/x>", "links", "title")
    assert gave["title"].value == {"title": "縁側"}
    assert gave["links"].value == {"title": "縁側", "links": [{"href": "/x"}]}


def test_what_goes_wrong_with_a_page_is_its_code(process: ExtractionProcess) -> None:
    missing = by_id(process, b"<h1>no title</h1>", "title")["title"]
    assert (code(missing), missing.error and missing.error["path"]) == ("E_REQUIRED_VALUE_MISSING", "output.title")
    assert code(by_id(process, b"\xff", "title")["title"]) == "E_HTML_DECODE"
    assert code(by_id(process, HTML, "other")["other"]) == "E_IR_INVALID"
    large = b"<title>t</title>" + b"<div>" * 300 + b"x" * 50_000 + b"</div>" * 300
    assert code(by_id(process, large, "all")["all"]) == "E_PAGE_RESULT_TOO_LARGE"


def test_a_page_that_takes_the_process_along_gets_a_code_and_the_next_one_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flows.extraction_process, "CHILD_MODULE", "tests.fakes.dying_child")
    with ExtractionProcess({"title": ir(program()), "links": ir(program("links", LINKS))}) as process:
        gave = by_id(process, b"<title>DIE</title>", "title", "links")
        assert [code(one) for one in gave.values()] == ["E_PAGE_KILLED_ITS_PROCESS"] * 2
        assert by_id(process, HTML, "title")["title"].value == {"title": "縁側"}


def test_a_page_that_wants_more_memory_than_there_is_gets_a_code() -> None:
    with ExtractionProcess({"title": ir(program())}, max_memory_bytes=512 * 1024**2) as process:
        assert code(by_id(process, b"<a>" * 10_000_000, "title")["title"]) in (
            "E_HTML_PARSE",
            "E_PAGE_KILLED_ITS_PROCESS",
        )
        assert by_id(process, HTML, "title")["title"].value == {"title": "縁側"}


def test_a_process_that_somebody_else_ended_costs_no_page(process: ExtractionProcess) -> None:
    for asked in (process.extract(HTML, ["title", "links", "title"]), process.extract(HTML, ["title"])):
        assert next(asked)[1].value is not None
        assert process._child is not None
        os.kill(process._child.pid, signal.SIGKILL)
        assert all(gave.value is not None for _, gave in asked)


def test_a_program_that_does_not_look_at_its_time_is_ended_from_outside() -> None:
    with ExtractionProcess({"title": ir(program())}, timeout_s=1, kill_after_s=0.5) as process:
        assert process._child is not None
        pid = process._child.pid
        os.kill(pid, signal.SIGSTOP)
        stuck = by_id(process, HTML, "title")["title"]
        assert code(stuck) == "E_TIMEOUT"
        assert not psutil.pid_exists(pid)
        process._kill_after_s = 60
        assert by_id(process, HTML, "title")["title"].value == {"title": "縁側"}


def test_child_has_no_secret_of_ours_and_ends_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "user:secret")
    with ExtractionProcess({"title": ir(program())}) as process:
        assert process._child is not None
        child = psutil.Process(process._child.pid)
        assert "PREFECT_API_AUTH_STRING" not in child.environ()
    assert not child.is_running()
