"""The state of one extraction: the page, what was recovered so far, and what is left of its budgets."""

import time

from turbohtml import Element

from comity.extract.run.failures import HaltedError, RunError
from comity.extract.run.options import RunOptions
from comity.extract.run.page import Page
from comity.extract.run.results import RunWarning


class Execution:
    """One page on its way through one program. `indexes` are the rows that we are in, outermost first."""

    __slots__ = (
        "_deadline", "_max_rows", "_max_text_chars", "_rows_left", "_timeout_s",
        "cancellation", "chars_left", "external", "indexes", "page", "partial", "plain", "shared", "warnings",
    )  # fmt: skip

    def __init__(self, page: Page, options: RunOptions, shared_queries: int, deadline: float) -> None:
        self.page = page
        self.plain = page.plain
        self.external = options.external_transforms
        self.cancellation = options.cancellation
        self.indexes: list[int] = []
        self.warnings: list[RunWarning] = []
        self.partial = False
        self.shared: list[tuple[object, list[Element]] | None] = [None] * shared_queries
        self.chars_left = self._max_text_chars = options.max_text_chars
        self._rows_left = self._max_rows = options.max_rows
        self._timeout_s = options.timeout_s
        self._deadline = deadline

    def begin_row(self, path: "Path") -> None:
        """Called for each row: raises where the extraction must end here."""
        if self.cancellation is not None:
            check_cancelled(self, path)
        self._rows_left -= 1
        if self._rows_left < 0:
            raise HaltedError(
                "E_FIELD_EXECUTION", f"more than {self._max_rows} rows (max_rows); narrow the selector", path.of(self)
            )
        self.check_time(path)

    def check_time(self, path: "Path") -> None:
        if time.monotonic() > self._deadline:
            raise HaltedError("E_TIMEOUT", f"not done after {self._timeout_s:g} s (timeout_s)", path.of(self))

    def out_of_text(self) -> HaltedError:
        """The error for more text than the page may give; `chars_left` is below 0."""
        message = f"the page gave more than {self._max_text_chars} characters (max_text_chars); narrow the selectors"
        return HaltedError("E_FIELD_EXECUTION", message)

    def warn(self, code: str, error: RunError, path: str, row: int | None = None) -> None:
        self.partial = True
        self.warnings.append(RunWarning(code, str(error.as_failure()), path, row))


def check_cancelled(execution: Execution, path: "Path") -> None:
    if execution.cancellation is not None and execution.cancellation.is_set():
        raise cancelled(path.of(execution))


def cancelled(path: str | None = None) -> HaltedError:
    return HaltedError("E_EXECUTION_CANCELED", "the caller ended the extraction", path)


class Path:
    """The path of a member, `output.items[3].name`, whose row numbers are known only while it runs."""

    __slots__ = ("_pieces",)

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    def member(self, name: str) -> "Path":
        return Path(*self._pieces[:-1], f"{self._pieces[-1]}.{name}")

    def row(self) -> "Path":
        """The path of the rows of a collection that has this path."""
        return Path(*self._pieces[:-1], f"{self._pieces[-1]}[", "]")

    def of(self, execution: Execution) -> str:
        indexes = iter(execution.indexes)
        text = self._pieces[0]
        for piece in self._pieces[1:]:
            text += f"{next(indexes)}{piece}"
        return text

    def __str__(self) -> str:
        return "".join(self._pieces)
