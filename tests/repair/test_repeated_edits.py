"""Edits repeated at several places."""

from coder.python.source import PythonSource
from coder.repair.candidates import combine_repeated_edits, generate_candidates
from tests.repair.places import candidate

TEXT = "def f(a, b):\n    if a < b:\n        return a < b\n\n\ndef g(a, b):\n    return a < b\n"


def texts(lines: dict[int, float]) -> set[str]:
    source = PythonSource("a.py", TEXT)
    single = generate_candidates({"a.py": source}, {"a.py": lines}, [])
    return {combined.edit.apply(TEXT) for combined in combine_repeated_edits(single, {"a.py": source})}


def test_combines_places_of_function_and_of_file() -> None:
    function = TEXT.replace("a < b", "a <= b", 2)
    assert {function, TEXT.replace("a < b", "a <= b")} <= texts({2: 1.0, 3: 1.0, 7: 1.0})
    assert TEXT.replace("a < b", "a <= b", 1) not in texts({2: 1.0, 3: 1.0})


def test_leaves_unsuspicious_places() -> None:
    assert TEXT.replace("a < b", "a <= b", 2) in texts({2: 1.0, 3: 1.0})
    assert texts({7: 1.0}) == set()


def test_does_not_repeat_deletions() -> None:
    source = PythonSource("a.py", "def f():\n    g()\n    g()\n")
    first = candidate(source.text, "g()", "pass", family="deletion")
    other = first.edit.changes[0].model_copy(update={"start": 21, "end": 24})
    second = type(first)(
        edit=first.edit.model_copy(update={"changes": (other,)}), score=0.5, place=first.place
    )
    assert [*combine_repeated_edits([first, second], {"a.py": source})] == []


def test_scores_more_places_lower() -> None:
    def best(lines: int) -> float:
        source = PythonSource("a.py", "def f(a, b):\n" + "    g(a < b)\n" * lines)
        single = generate_candidates({"a.py": source}, {"a.py": {2 + line: 1.0 for line in range(lines)}}, [])
        changed = [
            combined
            for combined in combine_repeated_edits(single, {"a.py": source})
            if combined.edit.family == "comparison"
        ]
        return max(combined.score for combined in changed if len(combined.edit.changes) == lines)

    assert best(4) < 0.3 * best(2) < best(2)
