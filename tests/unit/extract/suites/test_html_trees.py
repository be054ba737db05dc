"""The tree-construction tests of html5lib over pages as extractors read them."""

from comity.extract.run.page import Page
from tests.unit.extract.suites.packages import HTML, files_of, needs
from tests.unit.extract.suites.trees import TreeCase, cases_of, tree_of

pytestmark = needs(HTML)

FILES = files_of(HTML, "html5lib/tests/testdata/tree-construction")
CASES = [
    case
    for file, data in sorted(FILES.items())
    if file.endswith(".dat")
    for case in cases_of(file.removesuffix(".dat"), data.decode("utf-8", "surrogatepass"))
]
DIFFERENCES: dict[str, str] = {
    "the HTML Standard lets a select hold any element since 2025, and the tests are of 2020": """
        menuitem-element:13 tests1:29 tests1:101 tests10:3 tests10:4 tests10:16 tests10:17 tests18:13 tests18:14
        tests7:30 tests9:4 tests9:5 tests9:17 tests9:18
    """,
    "the HTML Standard has processing instructions since 2026; in the tests they are comments": """
        html5test-com:11 tests1:39 tests1:43 tests1:46
    """,
    "scripts of a saved page are not run, and these change their page": """
        scripted/adoption01:0 scripted/ark:0 scripted/webkit01:0 scripted/webkit01:1
    """,
}
"""Why a tree is another one, and the cases."""


def is_a_page(case: TreeCase) -> bool:
    """Fragments are never parsed here, and scripting is on."""
    return case.fragment_of is None and case.scripting is not False


def differs(case: TreeCase) -> bool:
    return tree_of(Page(case.html).root) != case.tree


def test_suite_is_the_one_that_the_differences_were_told_of() -> None:
    assert len(CASES) == 1704
    assert sum(is_a_page(case) for case in CASES) == 1501


def test_trees_are_those_of_the_suite_but_for_those_that_are_told() -> None:
    told = sorted(name for names in DIFFERENCES.values() for name in names.split())
    assert sorted(case.name for case in CASES if is_a_page(case) and differs(case)) == told
