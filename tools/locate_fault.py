"""The tool `locate_fault`."""

from coder.core.errors import ToolError
from coder.core.values import Suspect
from coder.files.ripgrep import escape_path
from coder.index import definitions, enclosing_definitions
from coder.retrieval.excerpts import LineRange, render_excerpt
from coder.tools.run_tests import validate_test_id
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace, format_count, load_source

SHOWN = 3
NAMED = 7
LONGEST_FUNCTION = 60
AROUND = 20
WINDOW_CHARACTERS = 3_000


@tool
def locate_fault(workspace: Workspace, tests: tuple[str, ...] = ()) -> str:
    """Trace failing tests and rank the functions that they execute and passing tests do not: the top three with their source.

    A ranking, not a proof; it runs the failing tests and their neighbours on the code as it is now. Python with pytest only.

    Args:
        tests: Ids of failing tests: `tests/test_x.py::test_y`; empty is all that fail on the untouched code.
    """
    failing_tests = tuple(validate_test_id(workspace, test) for test in tests) or tuple(
        result.id for result in workspace.baseline((), workspace.progress).failures
    )
    if not failing_tests:
        raise ToolError(
            "No test fails on the untouched code. Name one that fails on the code as it is "
            "now, or write one first."
        )
    suspected = workspace.suspects(failing_tests, workspace.progress)
    if suspected.problem:
        return f"The fault cannot be located by tests: {suspected.problem}"
    head = (
        f"Told from {format_count(len(suspected.tests), 'failing test')}; most suspicious "
        "first (Ochiai, 1 is only failing tests):"
    )
    rest = [
        f"{_title(number, suspect)}"
        for number, suspect in enumerate(suspected.suspects[SHOWN:NAMED], SHOWN + 1)
    ]
    return "\n\n".join(
        [
            head,
            *(
                _window(workspace, number, suspect)
                for number, suspect in enumerate(suspected.suspects[:SHOWN], 1)
            ),
            "\n".join(rest),
        ]
    ).strip()


def _title(number: int, suspect: Suspect) -> str:
    return (
        f"{number}. {escape_path(suspect.place)} (suspicion {suspect.score:.2f}, most at line {suspect.line})"
    )


def _window(workspace: Workspace, number: int, suspect: Suspect) -> str:
    """Show one function with its rank; of a long one the lines around the most suspicious."""
    path, colons, _ = suspect.place.partition("::")
    path = path if colons else path.rpartition(":")[0]
    if not workspace.may_read(path):
        return _title(number, suspect)
    relative, source = load_source(workspace, path)
    functions = [
        definition
        for definition in enclosing_definitions(suspect.line, definitions(relative, source.text))
        if definition.kind != "class"
    ]
    first, last = (
        (functions[-1].start, functions[-1].end)
        if functions
        else (suspect.line - AROUND, suspect.line + AROUND)
    )
    if last - first > LONGEST_FUNCTION:
        first, last = max(first, suspect.line - AROUND), min(last, suspect.line + AROUND)
    window = render_excerpt(
        workspace, LineRange(path=relative, first=first, last=last), most=WINDOW_CHARACTERS
    )
    return f"{_title(number, suspect)}\n{window}"
