"""Generation and order of candidate edits."""

from coder.core.verdict import Failure
from coder.python.source import PythonSource
from coder.repair import candidates
from coder.repair.candidates import RepairCandidate, generate_candidates
from coder.repair.rules import RULES
from coder.repair.templates import TEMPLATES

TEXT = "def near(a, b):\n    return a < b\n\n\ndef far(a, b):\n    return a < b\n"


def generate(text: str, lines: dict[int, float], *failures: Failure) -> list[RepairCandidate]:
    """Return the candidates of a text with these suspicious lines."""
    return generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": lines}, failures)


def generate_texts(text: str, lines: dict[int, float]) -> list[str]:
    return [candidate.edit.apply(text) for candidate in generate(text, lines)]


def test_orders_by_suspicion_and_skips_unsuspicious_lines() -> None:
    first, *others = generate(TEXT, {2: 0.4, 6: 1.0})
    found = first.edit.line, first.place, first.edit.summary
    assert found == (6, "a.py::far", "far: use `<=` instead of `<`")
    assert {candidate.edit.line for candidate in others} == {2, 6}
    assert {candidate.edit.line for candidate in generate(TEXT, {2: 0.04, 6: 1.0})} == {6}


def test_order_is_deterministic_without_duplicates() -> None:
    texts = generate_texts(TEXT, {2: 1.0, 6: 1.0})
    assert texts == generate_texts(TEXT, {2: 1.0, 6: 1.0})
    assert len(set(texts)) == len(texts) > 30


def test_treats_headers_and_defaults_as_sites() -> None:
    text = "def f(a=1):\n    if a:\n        return 2\n    return 3\n"
    assert {candidate.edit.line for candidate in generate(text, {2: 1.0})} == {2}
    assert any("a=0" in new for new in generate_texts(text, {1: 1.0}))


def test_prefers_variable_named_like_parameter() -> None:
    text = "def g(first=0, size=1):\n    return size\n\n\ndef f(a, b, c, size):\n    return g(0, a)\n"
    at_argument = [
        found.edit.apply(text)
        for found in generate(text, {6: 1.0})
        if found.edit.family == "variable" and text[found.edit.changes[0].start :].startswith("a)")
    ]
    assert at_argument[0] == text.replace("g(0, a)", "g(0, size)")


def test_limits_candidates_of_large_table() -> None:
    found = generate(f"TABLE = [{', '.join(map(str, range(9000)))}]\n", {1: 1.0})
    assert len(found) == candidates.MAX_CANDIDATES


def test_every_family_is_counted() -> None:
    families = {rule.family for rule in RULES} | {template.__name__ for template in TEMPLATES}
    assert candidates.FAMILY_COUNTS.keys() <= families
    assert all(exact <= offered for exact, offered in candidates.FAMILY_COUNTS.values())
