"""The tool `tests_for`."""

from coder.core.errors import ToolError
from coder.files.ripgrep import escape_path
from coder.retrieval.test_examples import find_reaching_tests
from coder.tools.find_symbol import find_definitions
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace, format_count, path_category

MOST_TESTS = 30


@tool
def tests_for(workspace: Workspace, name: str) -> str:
    """Find the tests that reach a symbol: those that name it, then those that name what uses it, one level up.

    Found by names and imports, not by running: up to 30, nearest first, as ids for run_tests.

    Args:
        name: A symbol, bare or dotted: `parse`, `Parser.parse`, `package.module.Parser`.
    """
    snapshot = workspace.index.refresh()
    symbol = name.strip().removesuffix("()").replace("::", ".").strip(".")
    places = [
        place for place in find_definitions(snapshot, symbol) if path_category(place.path) == 0
    ] or find_definitions(snapshot, symbol)
    if not places:
        similar = ", ".join(snapshot.similar_names(symbol.rpartition(".")[2]))
        raise ToolError(
            f"{name!r} is not defined here.{f' Near: {similar}.' if similar else ''} Try find_symbol."
        )
    tests = [test for test in find_reaching_tests(snapshot, places) if workspace.may_read(test.path)]
    if not tests:
        return f"No test names {symbol} or what uses it; it may be reached from further away."
    for test in tests[:MOST_TESTS]:
        workspace.record_place(test.path, test.line)
    more = f", the nearest {MOST_TESTS} shown" if len(tests) > MOST_TESTS else ""
    lines = [f"{escape_path(test.id)}  names {test.names}, line {test.line}" for test in tests[:MOST_TESTS]]
    return "\n".join([f"{format_count(len(tests), 'test')} may reach {symbol}{more}", *lines])
