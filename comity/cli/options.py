"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="Folder that holds everything. Else COMITY_DATA, else ./data.", show_default=False
    ),
]
AllowPrivateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-private",
        metavar="HOST:PORT|CIDR",
        help="Also visit this host or range, though it is not of the public web; repeatable. "
        "Adds to COMITY_ALLOW_PRIVATE.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON, for programs.")]
