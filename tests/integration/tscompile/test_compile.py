"""What `POST /compile` accepts, answers and refuses, over HTTP and with the real compiler."""

import json
import re
from typing import Any

import pytest

from tests.integration.tscompile.conftest import Service, script

BEHAVIOR = """// Kept: why it counts.
(async () => {
  const links: number = document.querySelectorAll("a").length;
  __bh.report("count", { links, left: __bh.remainingMs(), limit: __bh.opts["count"]?.["limit"] });
})();
"""


def test_good_script_comes_back_as_javascript_with_its_hash(service: Service) -> None:
    sent = script("count", BEHAVIOR, version=7, phase="preload", options={"limit": None, "名": [1.0, {"b": 1, "a": 2}]})
    answer = service.compile(sent)
    assert answer.status_code == 200
    body = answer.json()
    assert re.fullmatch(r"7\.\d+\.\d+\S*", body["typescript"])
    (compiled,) = body["scripts"]
    assert ": number" not in compiled["source"]
    assert "// Kept: why it counts." in compiled["source"]
    assert script("count", compiled["source"])["sha256"] == compiled["sha256"]
    rest = ("source", "sha256")
    assert {k: v for k, v in compiled.items() if k not in rest} == {k: v for k, v in sent.items() if k not in rest}
    assert list(compiled["options"]["名"][1]) == ["b", "a"]
    assert json.dumps(compiled["options"]["名"][0]) == "1.0"


@pytest.mark.parametrize("depth", [10, 150, 400, 900, 1_100, 5_000, 100_000])
def test_deeply_nested_options_are_returned_or_refused_but_never_a_fault(service: Service, depth: int) -> None:
    sent = json.dumps({"scripts": [script("a", "", options={"x": "@"})]}).replace('"@"', "[" * depth + "]" * depth)
    answer = service.client.post("/compile", content=sent)
    assert answer.status_code in ((200,) if depth <= 150 else (200, 400))
    if answer.status_code == 200:
        assert "[" * depth + "]" * depth in answer.text


def test_absent_options_stay_absent(service: Service) -> None:
    assert "options" not in service.compile(script("a", "let a1 = 1;")).json()["scripts"][0]


def test_empty_list_is_answered_with_the_versions(service: Service) -> None:
    health = service.client.get("/healthz").json()
    assert health["ok"] is True
    assert service.compile().json() == {
        "typescript": health["typescript"],
        "hostTypes": health["hostTypes"],
        "cached": False,
        "scripts": [],
    }


def test_scripts_keep_the_callers_order_and_share_one_scope(service: Service) -> None:
    user, giver = "const doubled: number = twice(21);", "function twice(n: number): number { return n * 2; }"
    answer = service.compile(script("z", user), script("a", giver)).json()
    assert [each["id"] for each in answer["scripts"]] == ["z", "a"]


def test_same_input_gives_the_same_bytes_and_the_second_is_cached(start: Any) -> None:
    sent = [script("a", BEHAVIOR), script("b", "const 名前: string = 'é𝒳'; // 注")]
    with start() as one, start() as other:
        first, second, elsewhere = one.compile(*sent).json(), one.compile(*sent).json(), other.compile(*sent).json()
    assert (first["cached"], second["cached"], elsewhere["cached"]) == (False, True, False)
    assert first["scripts"] == second["scripts"] == elsewhere["scripts"]
    assert "const 名前 = 'é𝒳'; // 注" in first["scripts"][1]["source"]


def test_options_version_and_phase_do_not_miss_the_cache(service: Service) -> None:
    source = "let cachedOnce = 1;"
    assert service.compile(script("a", source)).json()["cached"] is False
    again = service.compile(script("a", source, version=9, phase="preload", options={"x": 1})).json()
    assert (again["cached"], again["scripts"][0]["version"], again["scripts"][0]["options"]) == (True, 9, {"x": 1})


def test_cache_folder_outlives_the_service(start: Any, tmp_path: Any) -> None:
    sent = script("a", BEHAVIOR)
    with start(CACHE=str(tmp_path / "cache")) as one:
        first = one.compile(sent).json()
    with start(CACHE=str(tmp_path / "cache")) as other:
        second = other.compile(sent).json()
    assert (first["cached"], second["cached"]) == (False, True)
    assert first["scripts"] == second["scripts"]


def test_a_hundred_scripts_pass_and_one_more_is_refused(service: Service) -> None:
    hundred = [script(f"s-{n}", f"const v{n}: number = {n};") for n in range(100)]
    assert len(service.javascript(*hundred)) == 100
    answer = service.compile(*hundred, script("s-100", ""))
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert [each["path"] for each in answer.json()["fieldList"]] == ["/scripts"]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "\ufeff// begins with a byte order mark",
        "let a2 = 'import x from y';",
        "const a3 = { import: 1, export: 2 }; class Q3 { import() { return a3.export; } }",
        "declare namespace N3 { export interface A { a: 1 } } const n3: N3.A = { a: 1 };",
        "globalThis.__bh.report('a', {}); window.addEventListener('load', () => {});",
        "// @ts-expect-error: the library's types are behind\nconst a4: number = document.isNew;",
        "const t5 = `\nexport const x = 1\n`;",
        "const s6 = [3, 1].toSorted(); const m6 = [1].findLast((n) => n > 0);",
        "(async () => { for await (const x of (async function* () { yield 1; })()) console.log(x); await 1; })();",
        "let s7 = 1 satisfies number; const c7 = 'x' as const; type T7 = typeof c7;",
        "let a8 = 1;\r\nlet b8 = 2;\r\n",
    ],
)
def test_classic_erasable_script_passes_and_exports_nothing(service: Service, source: str) -> None:
    (javascript,) = service.javascript(script("a", source))
    assert not re.search(r"^(?:export|import)\b", javascript.replace("\nexport const x = 1\n", ""), re.MULTILINE)
    assert "\r" not in javascript


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__bh.remainingMS();", [("a.ts", 1, "TS2551")]),
        ("enum A { X }", [("a.ts", 1, "TS1294")]),
        ("\n\nconst n: number = 'あ';", [("a.ts", 3, "TS2322")]),
        ("namespace N { export const x = 1; }", [("a.ts", 1, "TS1294")]),
        ("class A { constructor(private x: number) {} }", [("a.ts", 1, "TS1294")]),
        ("function f(x) { return x; }", [("a.ts", 1, "TS7006")]),
        ("const x = [1].nothing();", [("a.ts", 1, "TS2339")]),
        ("const m = new Map<string, number>().getOrInsert('a', 1);", [("a.ts", 1, "TS2550")]),
        ("process.exit(1);", [("a.ts", 1, "TS2591")]),
        ("await Promise.resolve();", [("a.ts", 1, "TS1375"), ("a.ts", 1, "TS1378")]),
        ("let a = 1\nexport const x = 1;", [("a.ts", 2, "no-modules")]),
        ("export {};", [("a.ts", 1, "no-modules")]),
        ("'use strict'; export type A = 1;", [("a.ts", 1, "no-modules")]),
        ("import { s } from './b';", [("a.ts", 1, "no-modules"), ("a.ts", 1, "TS2306")]),
        ("import type { s } from 'x'; let q: s;", [("a.ts", 1, "no-modules"), ("a.ts", 1, "TS2307")]),
        ("type T = typeof import('./b'); let t: T;", [("a.ts", 1, "TS2306")]),
        ("const p = import('x');", [("a.ts", 1, "TS1323"), ("a.ts", 1, "TS2307")]),
        ("const u = import.meta.url;", [("a.ts", 1, "no-modules"), ("a.ts", 1, "TS1343")]),
        ("const r = require('fs');", [("a.ts", 1, "TS2591")]),
        ("// @ts-nocheck\nlet n: number = 'x';", [("a.ts", 1, "no-ts-nocheck")]),
        ("// @ts-ignore\nenum A { X }", [("a.ts", 2, "TS1294")]),
        ("// @ts-ignore\nimport('https://example.test/x.js');", [("a.ts", 2, "TS1323"), ("a.ts", 2, "TS2307")]),
        ("// @ts-ignore\nawait 1;", [("a.ts", 2, "TS1375"), ("a.ts", 2, "TS1378")]),
        ('/// <reference path="/etc/passwd" />', [("a.ts", 1, "no-reference")]),
        ('/// <reference path="../../host.d.ts" />', [("a.ts", 1, "no-reference")]),
        ('/// <reference lib="webworker" />', [("a.ts", 1, "no-reference")]),
        ("let a = ;", [("a.ts", 1, "TS1109")]),
    ],
)
def test_faulty_script_is_refused_with_its_place(
    service: Service, source: str, expected: list[tuple[str, int, str]]
) -> None:
    assert sorted(service.codes(script("a", source), script("b", "let fine = 1;"))) == sorted(expected)


def test_two_scripts_that_declare_one_name_clash(service: Service) -> None:
    found = service.codes(script("b", "const shared = 1;"), script("a", "\nconst shared = 2;"))
    assert found == [("b.ts", 1, "TS2451"), ("a.ts", 2, "TS2451")]
    assert len(service.javascript(script("b", "const one = 1;"), script("a", "\nconst two = 2;"))) == 2


def test_column_counts_utf16_units_from_one(service: Service) -> None:
    answer = service.compile(script("a", "/*𝒳*/ const x: number = '';")).json()
    (found,) = answer["diagnostics"]
    assert found["col"] == 14


def test_diagnostics_come_in_the_same_order_twice_and_tell_no_folder(service: Service) -> None:
    clashing, importing = "const name: number = ''; var __bh: 1;", "let q: string = 1; import './b';"
    sent = [script("b", clashing), script("a", importing)]
    first, second = service.compile(*sent).json(), service.compile(*sent).json()
    assert first == second
    assert [each["file"] for each in first["diagnostics"]][:2] == ["b.ts", "b.ts"]
    assert not [each for each in first["diagnostics"] if "/" in each["file"] or "tscompile" in each["message"]]


def test_imports_read_no_file_of_the_machine(service: Service, tmp_path: Any) -> None:
    secret = tmp_path / "secret.ts"
    secret.write_text("export const hidden: 'top-secret' = 1;")
    plain = tmp_path / "plain.json"
    plain.write_text('{"word": "top-secret"}')
    for source in (
        f"import {{ hidden }} from '{secret.with_suffix('')}'; const n: number = hidden;",
        f"import data from '{plain}'; const n: number = data.word;",
        f"type T = typeof import('{secret.with_suffix('')}'); const n: T = 1;",
        f'/// <reference path="{secret}" />\nconst n: number = "x";',
    ):
        assert "top-secret" not in service.compile(script("a", source)).text


def test_source_hash_of_other_bytes_is_409_and_names_the_script(service: Service) -> None:
    answer = service.compile(script("a", "let a = 1;"), script("b", "let b = 1;", sha256="0" * 64))
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (409, "SourceHashMismatch")
    assert answer.json()["id"] == "b"


def test_upper_case_hash_is_400(service: Service) -> None:
    sent = script("a", "let a = 1;")
    answer = service.compile(sent | {"sha256": sent["sha256"].upper()})
    assert (answer.status_code, answer.json()["fieldList"][0]["path"]) == (400, "/scripts/0/sha256")


def test_no_temporary_folder_stays_behind(service: Service) -> None:
    service.compile(script("a", "let left = 1;"))
    service.compile(script("a", "let left: string = 1;"))
    assert list(service.scratch.iterdir()) == []
