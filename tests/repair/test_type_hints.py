"""Answers compared with return annotations."""

from coder.core.ports import CallComparison
from coder.python.source import PythonSource
from coder.repair.clusters import return_types_by_function, type_violation_share

TEXT = """\
def size(a) -> int: ...
def names(a) -> list[str]: ...
def free(a): ...
class A:
    def kept(self) -> "bool": ...
    def told(self) -> None: ...
"""


def test_reads_simple_annotations() -> None:
    assert return_types_by_function([PythonSource("a.py", TEXT)]) == {
        "size": "int",
        "names": "list",
        "A.told": "None",
    }


def test_counts_wrong_types_but_not_exceptions() -> None:
    comparison = CallComparison(calls=("size(a=1)", "size(a=2)", "names(a=1)", "free(a=1)"))
    return_types = {"size": "int", "names": "list"}
    assert type_violation_share(("1", "raises TypeError", "['a']", "'x'"), comparison, return_types) == 0.0
    assert type_violation_share(("1\t{}", "None\t{}", "'a'", "'x'"), comparison, return_types) == 2 / 3
    assert type_violation_share(("1", "1", "1", "1"), comparison, {}) == 0.0
