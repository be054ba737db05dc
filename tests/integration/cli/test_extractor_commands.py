"""`comity extractors` and `comity extract export` against a real ledger."""

import csv
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from blocks.clients.ledger import LedgerClient
from comity.cli import commands_export, commands_extractors, crawl_calls, crawl_extractors
from comity.cli.errors import BadInput, CliError
from comity.cli.main import app
from comity.contract.extraction import ExtractorChoice
from comity.contract.ledger import StartCrawl
from tests.fakes.extractor_programs import VERSION, program
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ledger_at
from tests.integration.ledger.extracting import (
    add,
    bad,
    capture_level,
    dispatched,
    good,
    order,
    pin,
    report,
)

Run = Callable[..., Result]
MODULE = (
    f'module "text" version="{VERSION}" language-version="{VERSION}" {{\n'
    '  transform "clean" input="string" output="string" { pipeline { apply "trim" } }\n}\n'
)
ITEMS = """
  field "price" type="u16?" { select ".price"; value "text"; apply "parse-int" as="u16" }
  field "tags" type="string[]" required=#true { select ".tags"; value "text"; apply "split" separator="," }
  collection "items" {
    select "li"
    field "name" type="string" required=#true { value "text" }
    collection "parts" {
      select "i"
      field "weight" type="f64?" { value "attr" name="w"; apply "parse-float" as="f64" }
    }
  }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with FakePrefect() as prefect, ledger_at(tmp_path / "data", tmp_path / "store", prefect) as running:
        yield running


@pytest.fixture
def run(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command against the desk's ledger."""
    for module in (commands_extractors, commands_export):
        monkeypatch.setattr(module, "ledger_of", lambda data: LedgerClient(desk.url, desk.token, "", timeout_ms=30_000))

    def comity(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments)

    return comity


def said(result: Result) -> str:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(result: Result) -> str:
    assert isinstance(result.exception, BadInput), (result.output, result.exception)
    assert result.exception.exit_code == 2
    return str(result.exception)


def test_extractor_is_added_with_its_imports_shown_disabled_and_removed(desk: Desk, run: Run, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "text.kdl").write_text(MODULE)
    clean = 'field "h1" type="string" { select "h1"; value "text"; apply "text.clean" }'
    page = tmp_path / "page.kdl"
    page.write_text(program("news", clean, imports='import "./shared/text.kdl" as="text"\n'))
    assert "version 1 is new" in said(run("extractors", "add", str(page), "--description", "The news."))
    assert "it was there already" in said(run("extractors", "add", str(page)))
    [row] = json.loads(said(run("extractors", "list", "--json")))
    assert (row["id"], row["version"], row["description"]) == ("news", 1, "The news.")
    shown = said(run("extractors", "show", "news"))
    assert "--- page.kdl" in shown
    assert "--- shared/text.kdl" in shown
    assert said(run("extractors", "show", "news", "--source")) == page.read_text()
    page.write_text(program("news"))
    said(run("extractors", "add", str(page), "--id", "news"))
    first = json.loads(said(run("extractors", "show", "news", "--version", "1", "--json")))
    assert first["modules"] == [{"path": "shared/text.kdl", "source": MODULE}]
    assert "disabled" in said(run("extractors", "disable", "news"))
    assert "enabled" in said(run("extractors", "enable", "news"))
    said(run("extractors", "rm", "news"))
    assert desk.get("/api/extractors")["extractors"] == []


def test_wrong_extractors_change_nothing_and_are_explained(desk: Desk, run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.kdl"
    assert "there is no such file" in refused(run("extractors", "add", str(page)))
    page.write_text(program("news", 'field "a" type="text" { value "text" }'))
    result = run("extractors", "add", str(page))
    assert "nothing was added" in refused(result)
    assert "page.kdl:4:" in result.stderr
    page.write_text(program("news", imports='import "./none.kdl" as="none"\n'))
    assert "none.kdl" in refused(run("extractors", "add", str(page)))
    page.write_text(program("news", 'transform "t" input="string" output="string" { external symbol="x.y" }'))
    assert "x.y" in refused(run("extractors", "add", str(page)))
    page.write_text(program("news"))
    assert "id 'News'" in refused(run("extractors", "add", str(page), "--id", "News"))
    for command in ("show", "disable", "enable", "rm"):
        assert "no extractor other" in refused(run("extractors", command, "other"))
    assert desk.get("/api/extractors")["extractors"] == []


@pytest.fixture
def extracted(desk: Desk) -> str:
    """A crawl of three pages and two extractors: two pages gave something, one failed."""
    add(desk)
    add(desk, "shop", program("shop", ITEMS))
    crawl_id = desk.start(*(f"http://127.0.0.2/{number}" for number in range(3)), maxDepth=0,
                          extractors=[pin(), pin("shop")])  # fmt: skip
    capture_level(desk, crawl_id)
    run_id = dispatched(desk, crawl_id)
    pages = order(desk, crawl_id, run_id)["pages"]
    items: list[Json] = [
        {"name": "a", "parts": [{"weight": 1.5}, {"weight": None}]},
        {"name": 'b,"\n\u2028縁側', "parts": []},
    ]
    full = {"title": "=t", "price": 65535, "tags": ["x", "y"], "items": items}
    empty: Json = {"title": "", "price": None, "tags": [], "items": []}
    results = [good(pages[0], "shop", value=full), good(pages[1], "shop", value=empty), bad(pages[2], "shop")]
    report(desk, crawl_id, run_id, [*results, *(good(page) for page in pages)])
    return crawl_id


def table(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_json_lines_have_everything_in_order(run: Run, desk: Desk, extracted: str, tmp_path: Path) -> None:
    every = desk.get(f"/api/crawls/{extracted}/extractions")["extractions"]
    lines = [json.loads(line) for line in said(run("extract", "export", extracted)).split("\n") if line]
    assert lines == every
    assert len(lines) == 6
    target = tmp_path / "out.jsonl"
    said(run("extract", "export", extracted, "--extractor", "shop", "-o", str(target)))
    written = [json.loads(line) for line in target.read_text("utf-8").split("\n") if line]
    assert [line["extractor"] for line in written] == ["shop"] * 3
    assert "exists" in refused(run("extract", "export", extracted, "-o", str(target)))


def test_csv_has_a_line_a_page_or_a_row(run: Run, extracted: str, tmp_path: Path) -> None:
    pages = tmp_path / "pages.csv"
    said(run("extract", "export", extracted, "--extractor", "shop", "-o", str(pages)))
    first, second, third = table(pages)
    assert list(first)[-2:] == ["_error_code", "_error_message"]
    assert (first["_url"], first["title"], first["price"]) == ("http://127.0.0.2/0", "=t", "65535")
    assert json.loads(first["tags"]) == ["x", "y"]
    assert json.loads(first["items"])[1]["name"] == 'b,"\n\u2028縁側'
    assert (second["price"], second["tags"], second["_error_code"]) == ("", "[]", "")
    assert (third["title"], third["_error_code"]) == ("", "E_TIMEOUT")
    rows = tmp_path / "rows.csv"
    said(run("extract", "export", extracted, "--extractor", "shop", "--rows", "items", "-o", str(rows)))
    assert [(row["title"], row["items.name"], row["_error_code"]) for row in table(rows)] == [
        ("=t", "a", ""),
        ("=t", 'b,"\n\u2028縁側', ""),
        ("", "", "E_TIMEOUT"),
    ]
    said(run("extract", "export", extracted, "--extractor", "shop", "--rows", "items.parts", "--format", "csv"))


def test_parquet_has_the_programs_types(run: Run, extracted: str, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    said(run("extract", "export", extracted, "--extractor", "shop", "-o", str(target)))
    read = pq.read_table(target)
    types = {field.name: field.type for field in read.schema}
    assert (types["price"], types["tags"], types["title"]) == (pa.uint16(), pa.list_(pa.string()), pa.string())
    part = pa.struct([("weight", pa.float64())])
    assert types["items"] == pa.list_(pa.struct([("name", pa.string()), ("parts", pa.list_(part))]))
    assert types["_captured_at"] == pa.timestamp("ms", tz="UTC")
    first, second, third = read.to_pylist()
    assert first["items"][0] == {"name": "a", "parts": [{"weight": 1.5}, {"weight": None}]}
    assert (first["price"], second["price"], second["tags"]) == (65535, None, [])
    assert (third["title"], third["items"], third["_error_code"]) == (None, None, "E_TIMEOUT")
    assert first["_captured_at"].astimezone(UTC) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--format", "csv"), "choose facts or shop"),
        (("--extractor", "none"), "pinned facts, shop"),
        (("--format", "xlsx"), "choose jsonl, csv, parquet"),
        (("--rows", "items"), "--rows goes with csv"),
        (("--format", "csv", "--extractor", "shop", "--rows", "none"), "items"),
    ],
)
def test_an_export_that_cannot_be_meant_is_refused(
    run: Run, extracted: str, options: tuple[str, ...], words: str
) -> None:
    assert words in refused(run("extract", "export", extracted, *options))


def test_an_export_of_no_crawl_of_none_and_of_half_of_one(desk: Desk, run: Run, tmp_path: Path) -> None:
    assert "no crawl c0" in refused(run("extract", "export", "c0"))
    plain = desk.start("http://127.0.0.2/", maxDepth=0)
    assert "pinned no extractor" in refused(run("extract", "export", plain))
    capture_level(desk, plain)
    add(desk)
    crawl_id = desk.start("http://127.0.0.2/a", "http://127.0.0.2/b", maxDepth=0, extractors=[pin()])
    capture_level(desk, crawl_id)
    run_id = dispatched(desk, crawl_id)
    pages = order(desk, crawl_id, run_id)["pages"]
    report(desk, crawl_id, run_id, [good(pages[0])])
    result = run("extract", "export", crawl_id, "-o", str(tmp_path / "half.jsonl"))
    assert isinstance(result.exception, CliError)
    assert "1 more wait" in str(result.exception)
    assert len((tmp_path / "half.jsonl").read_text().splitlines()) == 1


def test_first_results_are_some_that_gave_something_and_some_that_failed(desk: Desk, extracted: str) -> None:
    with LedgerClient(desk.url, desk.token, "", timeout_ms=30_000) as ledger:
        found = crawl_extractors.first_results(ledger, extracted)
    assert [one.state for one in found] == ["extracted"] * 3 + ["failed"]


def test_unknown_extractor_and_script_of_a_crawl_name_the_command_that_lists_them(desk: Desk) -> None:
    wrong = StartCrawl(
        seeds=["http://127.0.0.2/"], scripts=["nosuch"], extractors=[ExtractorChoice(id="none", url_pattern=".")]
    )
    told = []
    with LedgerClient(desk.url, desk.token, "", timeout_ms=30_000) as ledger:
        for request in (wrong, wrong.model_copy(update={"scripts": []})):
            with pytest.raises(BadInput) as refusal:
                crawl_calls.start(ledger, request, datetime.now(UTC), print)
            told.append(str(refusal.value))
    assert told == [
        "--script: no script 'nosuch' in the catalogue; `comity scripts list` shows them",
        "--extractor: no extractor 'none' in the catalogue; `comity extractors list` shows them",
    ]
