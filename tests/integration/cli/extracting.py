"""A program that is kept as a file, a page for it, and the command that runs it."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.integration.extract.web import Answer, page

VERSIONS = 'version="2026-07-15" language-version="2026-07-15"'


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
