"""Mistakes that the rewrite rules and templates repair (tests/cases/mistakes), and candidate edits."""

import ast
import re

import pytest

from coder.core.ports import Edit
from coder.core.verdict import Failure
from coder.python.source import PythonSource
from coder.repair import candidates
from coder.repair.candidates import RepairCandidate, generate_candidates
from coder.repair.rules import RULES
from coder.repair.site import RewriteSite
from coder.repair.templates import TEMPLATES, rewrites_by_family
from tests.builders import CASES, paragraphs

MISTAKES = [
    (path.stem, source)
    for path in sorted(CASES.glob("mistakes/*.txt"))
    for source in paragraphs(f"mistakes/{path.name}")
]
"""The families with their sources, each after the exception of its failing test (`# Type: message`)."""
LEFT_ALONE = [
    ("shared", "x = [0] * n\n"),
    ("boundary", "f(self)\n"),
    ("negation", "x = a + b\n"),
    ("comparison", "x = a + b\n"),
    ("message", "x = s.strip\n"),
    ("lookup", "x = d[k]\n"),
    ("undefined_name", "x = floor(y)\n"),
]


def split_edits(text: str) -> tuple[str, str]:
    """Return a source before and after its edits."""
    return re.sub("«(.*?)→.*?»", r"\1", text, flags=re.S), re.sub("«.*?→(.*?)»", r"\1", text, flags=re.S)


def rewrite(text: str, *failures: Failure) -> dict[str, list[str]]:
    """Return all texts that each family makes of a source, at any node."""
    source = PythonSource("a.py", text)
    texts: dict[str, list[str]] = {}
    for node in ast.walk(source.tree):
        for family, found in rewrites_by_family(RewriteSite(source, node, failures)):
            edit = Edit(path="a.py", changes=found.changes, line=1, family=family, summary=found.summary)
            texts.setdefault(family, []).append(edit.apply(text))
    return texts


def is_code(text: str, expected: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(expected))
    except SyntaxError:
        return False


@pytest.mark.parametrize(("family", "source"), MISTAKES)
def test_repairs_mistake(family: str, source: str) -> None:
    exception, text = re.findall(r"\A(?:# (.*)\n)?([\s\S]*)", source)[0]
    before, after = split_edits(text)
    kind, _, message = exception.partition(": ")
    failures = [Failure(type=kind, message=message)] if exception else []
    assert any(is_code(made, after) for made in rewrite(before, *failures)[family])


@pytest.mark.parametrize(
    ("text", "steps"), [("x = a[:n - 1]\n", "n - 1 + 1"), ("x = a[n + 1:n]\n", "n + 1 - 1")]
)
def test_takes_a_step_back_instead_of_adding_another(text: str, steps: str) -> None:
    made = [after for texts in rewrite(text).values() for after in texts]
    assert not any(steps in after for after in made)
    assert any(is_code(after, text.replace(steps[:5], "n")) for after in made)


def test_binds_no_name_twice() -> None:
    made = rewrite("def f(pairs):\n    for _, v in pairs:\n        print(_)\n")["variable"]
    assert any("print(v)" in text for text in made)
    assert not any("for v, v" in text or "for _, _" in text for text in made)


@pytest.mark.parametrize(("family", "text"), LEFT_ALONE)
def test_leaves_other_code_alone(family: str, text: str) -> None:
    assert family not in rewrite(text)


def test_every_family_has_case() -> None:
    families = {rule.family for rule in RULES} | {template.__name__ for template in TEMPLATES}
    assert families <= {family for family, _ in MISTAKES}


def test_comments_in_an_expression_are_kept() -> None:
    text = "x = f(\n    a  # why\n    - b\n)\n"
    made = [new for family in rewrite(text).values() for new in family]
    assert made and all("# why" in new for new in made)


def test_rewrites_nothing_that_stays_the_same() -> None:
    text = "def f(x, items):\n    if x < 1 and items:\n        return items[0] + 1\n    return not x\n"
    assert all(new != text for family in rewrite(text).values() for new in family)


COMPARED = "def near(a, b):\n    return a < b\n\n\ndef far(a, b):\n    return a < b\n"


def generate(text: str, lines: dict[int, float], *failures: Failure) -> list[RepairCandidate]:
    """Return the candidates of a text with these suspicious lines."""
    return generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": lines}, failures)


def generate_texts(text: str, lines: dict[int, float]) -> list[str]:
    return [candidate.edit.apply(text) for candidate in generate(text, lines)]


def test_orders_by_suspicion_and_skips_unsuspicious_lines() -> None:
    first, *others = generate(COMPARED, {2: 0.4, 6: 1.0})
    found = first.edit.line, first.place, first.edit.summary
    assert found == (6, "a.py::far", "far: use `<=` instead of `<`")
    assert {candidate.edit.line for candidate in others} == {2, 6}
    assert {candidate.edit.line for candidate in generate(COMPARED, {2: 0.04, 6: 1.0})} == {6}


def test_order_is_deterministic_without_duplicates() -> None:
    texts = generate_texts(COMPARED, {2: 1.0, 6: 1.0})
    assert texts == generate_texts(COMPARED, {2: 1.0, 6: 1.0})
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
