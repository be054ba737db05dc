"""Extractors as files: the entry with every file that its imports lead to, checked before anything is sent."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from comity.cli.errors import BadInput
from comity.cli.reading import check_extractor
from comity.contract.extraction import AddExtractor
from comity.extract import compile, folder_loader  # noqa: A004 - as in `re.compile`


@dataclass(frozen=True)
class ExtractorFile:
    """An extractor and where it was read."""

    path: Path
    extractor: AddExtractor


def read_extractor(path: Path, *, ident: str | None = None, description: str = "") -> ExtractorFile:
    """The extractor in a file with its modules; its own name is its id unless another is given.

    Mistakes are drawn on standard error, each on its line. Raises BadInput naming the file.
    """
    check_extractor(path)
    from_disk, modules = folder_loader(path.parent), dict[str, bytes]()

    def load(name: str) -> bytes:
        modules[name] = from_disk(name)
        return modules[name]

    compilation = compile(path, load)
    if compilation.failure is not None:
        raise BadInput(compilation.failure)
    if compilation.program is None:
        from comity.cli.console import progress_output
        from comity.cli.extract_view import show_diagnostics

        show_diagnostics(progress_output(), path, compilation)
        raise BadInput(f"{path}: is no extractor that could run; nothing was added")
    try:
        extractor = AddExtractor.model_validate(
            {
                "id": ident or compilation.program.name,
                "file": path.name,
                "source": path.read_text("utf-8"),
                "modules": [{"path": name, "source": text.decode()} for name, text in modules.items()],
                "description": description,
            }
        )
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise BadInput(f"{path}: {field} {str(problem['input'])[:80]!r}: {problem['msg']}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: changed while it was read ({error})") from None
    return ExtractorFile(path, extractor)
