"""Imports: from a loader, from a folder, and everything that stops them."""

from pathlib import Path

import pytest

from comity import extract
from comity.extract import Loader, canonical_json, plain, read_program
from comity.extract.compiler.files import MAX_FILE_BYTES
from tests.unit.extract.programs import VERSIONS, codes, extractor, field, places

MODULE = f'module "m" {VERSIONS} {{ transform "own" input="string" output="string" {{ pipeline {{ apply "trim" }} }} }}'
USES = field('select "h1"; value "text"; apply "shared.own"')


def files(**given: str) -> Loader:
    def load(path: str) -> bytes:
        if path not in given:
            raise FileNotFoundError(path)
        return given[path].encode()

    return load


def test_imported_transform_is_part_of_the_program() -> None:
    source = 'import "./lib/../shared.kdl" as="shared"\n' + extractor(USES)
    program = extract.compile(source, files(**{"shared.kdl": MODULE})).program
    assert program is not None
    (transform,) = program.transforms
    assert (transform.symbol_id, transform.origin) == ("shared.kdl#transform:own", "imported")
    assert [(file.path, file.module_name) for file in program.files] == [("extractor.kdl", None), ("shared.kdl", "m")]


def test_folder_is_the_loader_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "pages").mkdir()
    (tmp_path / "lib" / "shared.kdl").write_text(MODULE)
    entry = tmp_path / "pages" / "page.kdl"
    entry.write_text('import "../lib/shared.kdl" as="shared"\n' + extractor(USES))
    program = extract.compile(entry).program
    assert program is not None
    assert [file.path for file in program.files] == ["../lib/shared.kdl", "page.kdl"]


def test_imports_are_resolved_from_the_importing_file() -> None:
    inner = f'import "./deep.kdl" as="deep"\n{MODULE.replace("trim", "deep.own")}'
    loader = files(**{"lib/shared.kdl": inner, "lib/deep.kdl": MODULE})
    source = 'import "./lib/shared.kdl" as="shared"\n' + extractor(USES)
    program = extract.compile(source, loader).program
    assert program is not None
    assert [one.symbol_id for one in program.transforms] == [
        "lib/deep.kdl#transform:own",
        "lib/shared.kdl#transform:own",
    ]
    assert read_program(canonical_json(plain(program))).program == program


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('import "./m.kdl"', "E_IMPORT_ALIAS_REQUIRED"),
        ('import "./m.kdl" as="M"', "E_IDENTIFIER_INVALID"),
        ('import "./m.kdl" as="m" from="x"', "E_UNKNOWN_PROPERTY"),
        ('import as="m"', "E_ARGUMENT_COUNT"),
        ('import "https://example.org/m.kdl" as="m"', "E_REMOTE_IMPORT_UNSUPPORTED"),
        ('import "file:m.kdl" as="m"', "E_REMOTE_IMPORT_UNSUPPORTED"),
        ('import "/m.kdl" as="m"', "E_REMOTE_IMPORT_UNSUPPORTED"),
        (r'import "C:\\m.kdl" as="m"', "E_REMOTE_IMPORT_UNSUPPORTED"),
        ('import "./m.kdl" as="m"\nimport "./m.kdl" as="m"', "E_DUPLICATE_SYMBOL"),
    ],
)
def test_wrong_import_is_refused_with_its_code(line: str, code: str) -> None:
    compilation = extract.compile(f"{line}\n{extractor()}", files(**{"m.kdl": MODULE}))
    assert [one.code for one in compilation.diagnostics] == [code]
    assert {one.path for one in compilation.diagnostics} == {"imports"}


def test_cycle_is_told_of_in_the_file_that_closes_it() -> None:
    loader = files(**{"a.kdl": f'import "./b.kdl" as="b"\n{MODULE}', "b.kdl": f'import "./a.kdl" as="a"\n{MODULE}'})
    compilation = extract.compile('import "./a.kdl" as="a"\n' + extractor(), loader)
    assert places(compilation) == [("E_IMPORT_CYCLE", 1, 1, None)]
    assert compilation.diagnostics[0].span.file == "a.kdl"


def test_mistakes_of_several_files_come_in_the_order_of_imports() -> None:
    source = 'import "./z.kdl" as="z"\nimport "./a.kdl" as="a"\n' + extractor().replace('"test"', '"T"')
    wrong = MODULE.replace('"m"', '"M"')
    compilation = extract.compile(source, files(**{"z.kdl": wrong, "a.kdl": wrong}))
    assert [one.span.file for one in compilation.diagnostics] == ["extractor.kdl", "z.kdl", "a.kdl"]


def test_file_that_cannot_be_read_is_a_failure_not_a_diagnostic(tmp_path: Path) -> None:
    source = 'import "./m.kdl" as="m"\n' + extractor()
    for compilation in (
        extract.compile(source),
        extract.compile(source, files()),
        extract.compile(tmp_path / "none.kdl"),
    ):
        assert compilation.program is None
        assert compilation.diagnostics == ()
        assert compilation.failure
    assert "m.kdl" in str(extract.compile(source, files()).failure)


def test_endless_chain_of_files_is_a_failure() -> None:
    def endless(path: str) -> bytes:
        return f'import "./{len(path)}{path}" as="next"\n{MODULE}'.encode()

    assert "deep" in str(extract.compile('import "./m.kdl" as="m"\n' + extractor(), endless).failure)


def test_transform_of_an_import_needs_its_alias() -> None:
    source = 'import "./m.kdl" as="shared"\n' + extractor(USES.replace("shared.own", "own"))
    assert [one.code for one in extract.compile(source, files(**{"m.kdl": MODULE})).diagnostics] == [
        "E_TRANSFORM_UNKNOWN"
    ]
    assert codes(extractor(USES)) == ["E_TRANSFORM_UNKNOWN"]


def test_path_that_no_file_can_have_is_a_failure(tmp_path: Path) -> None:
    entry = tmp_path / "page.kdl"
    for path, said in ((r"./a\u{0}.kdl", "page.kdl imports"), ("./folder", "is not a file")):
        (tmp_path / "folder").mkdir(exist_ok=True)
        entry.write_text(f'import "{path}" as="a"\n' + extractor())
        assert said in str(extract.compile(entry).failure)


def test_file_that_is_too_large_is_a_failure(tmp_path: Path) -> None:
    entry = tmp_path / "page.kdl"
    entry.write_text(extractor() + " " * MAX_FILE_BYTES)
    for compilation in (extract.compile(entry), extract.compile(entry.read_text())):
        assert "larger than" in str(compilation.failure)
    entry.write_text(extractor().ljust(MAX_FILE_BYTES))
    assert extract.compile(entry).program is not None
