"""Objects and collections as functions: members in source order, rows in document order, what fails is dropped or told.

Fields of one object that select the same elements ask the page once for each row.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from turbohtml import Element

from comity.extract.ir.program import OutputCollection, OutputField, OutputObject
from comity.extract.profile.selectors import SelectorError
from comity.extract.run.execution import Execution, Path, check_cancelled
from comity.extract.run.failures import HaltedError, RunError
from comity.extract.run.fields import Finder, Lookup, Member, Scope, field_member
from comity.extract.run.selectors import Selector
from comity.extract.run.transforms import Transforms

MAX_NESTING = 100
ObjectReader = Callable[[Scope, Execution], dict[str, Any]]


class ObjectMaker:
    """Makes the functions of one program; `shared_queries` is how many places for shared answers a run needs."""

    def __init__(self, transforms: Transforms) -> None:
        self._transforms = transforms
        self._selectors: dict[str, Selector] = {}
        self.shared_queries = 0

    def object_reader(self, described: OutputObject, path: Path, depth: int = 0) -> ObjectReader:
        """The function that reads an object at `path`. Raises RunError for a program that cannot work."""
        if depth > MAX_NESTING:
            raise RunError("E_IR_INVALID", f"collections are nested more than {MAX_NESTING} deep", str(path))
        asked = Counter(
            one.selection.selector for one in described.members if isinstance(one, OutputField) and one.selection
        )
        lookups: dict[str, Lookup] = {}
        for one in described.members:
            if isinstance(one, OutputField) and one.selection and one.selection.selector not in lookups:
                text = one.selection.selector
                lookups[text] = self._lookup(text, path.member(one.name), is_shared=asked[text] > 1)
        members = [
            (
                one.name,
                self._field(one, lookups, path.member(one.name), depth)
                if isinstance(one, OutputField)
                else self._collection(one, path.member(one.name), depth),
            )
            for one in described.members
        ]

        is_whole = depth == 0  # a row's time is looked at once for all its members

        def read(scope: Scope, execution: Execution) -> dict[str, Any]:
            value = {}
            for name, member in members:
                if execution.cancellation is not None:
                    check_cancelled(execution, path)
                if is_whole:
                    execution.check_time(path)
                value[name] = member(scope, execution)
            return value

        return read

    def _field(self, field: OutputField, lookups: dict[str, Lookup], path: Path, depth: int) -> Member:
        if field.selection is None and depth == 0:
            raise RunError("E_SELECTOR_REQUIRED", "a field outside a collection needs a select", str(path))
        lookup = lookups[field.selection.selector] if field.selection else None
        return field_member(field, lookup, self._transforms, path)

    def _collection(self, collection: OutputCollection, path: Path, depth: int) -> Member:
        find = self._lookup(collection.selector, path, is_shared=False).find
        row_path = path.row()
        read_row = self.object_reader(collection.row, row_path, depth + 1)
        skips = collection.on_row_error == "skip"
        least = max(collection.min_items, 1 if collection.required else 0)
        most = collection.max_items

        def member(scope: Scope, execution: Execution) -> list[dict[str, Any]]:
            indexes, rows = execution.indexes, list[dict[str, Any]]()
            level = len(indexes)
            indexes.append(0)
            for index, element in enumerate(find(scope, execution)):
                indexes[level] = index
                execution.begin_row(row_path)
                try:
                    rows.append(read_row(element, execution))
                except HaltedError:
                    raise
                except RunError as error:
                    if not skips:
                        raise
                    del indexes[level + 1 :]
                    execution.warn("W_ROW_SKIPPED", error, path.of(execution), index)
                if most is not None and len(rows) > most:
                    raise _out_of_bounds(f"more than {most} rows", path, execution)
            del indexes[level:]
            if len(rows) < least:
                raise _out_of_bounds(f"{len(rows)} rows, and at least {least} are wanted", path, execution)
            return rows

        return member

    def _lookup(self, text: str, path: Path, *, is_shared: bool) -> Lookup:
        selector = self._selectors.get(text)
        if selector is None:
            try:
                selector = self._selectors[text] = Selector.of(text)
            except SelectorError as error:
                raise RunError(error.code, str(error), str(path)) from None
        direct = None if selector.winding else selector.css

        def find(scope: Scope, execution: Execution) -> list[Element]:
            if direct is not None and execution.plain:
                return scope.select(direct)
            return execution.page.select(scope, selector)

        if not is_shared:
            return Lookup(find, direct)
        place = self.shared_queries
        self.shared_queries += 1
        return Lookup(_shared(find, place), None)


def _shared(find: Finder, place: int) -> Finder:
    def shared(scope: Scope, execution: Execution) -> list[Any]:
        held = execution.shared[place]
        if held is not None and held[0] is scope:
            return held[1]
        found = find(scope, execution)
        execution.shared[place] = (scope, found)
        return found

    return shared


def _out_of_bounds(what: str, path: Path, execution: Execution) -> RunError:
    return RunError("E_COLLECTION_CARDINALITY", f"there are {what}", path.of(execution))
