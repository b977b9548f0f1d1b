"""Generation and order of candidate edits."""

import pytest

from coder.core.verdict import Failure
from coder.python.source import PythonSource
from coder.repair.candidates import RepairCandidate, generate_candidates

TEXT = "def near(a, b):\n    return a < b\n\n\ndef far(a, b):\n    return a < b\n"


def generate(
    text: str, lines: dict[int, float], *failures: Failure, family: str = ""
) -> list[RepairCandidate]:
    """Return the candidates of a family, or all, in a text with these suspicious lines."""
    found = generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": lines}, failures)
    return [candidate for candidate in found if family in ("", candidate.edit.family)]


def generate_texts(text: str, lines: dict[int, float]) -> list[str]:
    return [candidate.edit.apply(text) for candidate in generate(text, lines)]


def test_orders_by_suspicion_and_skips_unsuspicious_lines() -> None:
    first, *others = generate(TEXT, {2: 0.4, 6: 1.0})
    assert (first.edit.line, first.place, first.edit.summary) == (
        6,
        "a.py::far",
        "far: use `<=` instead of `<`",
    )
    assert {candidate.edit.line for candidate in others} == {2, 6}
    assert {candidate.edit.line for candidate in generate(TEXT, {2: 0.04, 6: 1.0})} == {6}


def test_includes_less_suspicious_lines_if_few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {candidate.edit.line for candidate in generate(TEXT, {2: 0.15, 6: 1.0})} == {2, 6}
    monkeypatch.setattr("coder.repair.candidates.MAX_CANDIDATES", 10)
    assert {candidate.edit.line for candidate in generate(TEXT, {2: 0.15, 6: 1.0})} == {6}


def test_order_is_deterministic_without_duplicates() -> None:
    texts = generate_texts(TEXT, {2: 1.0, 6: 1.0})
    assert texts == generate_texts(TEXT, {2: 1.0, 6: 1.0})
    assert len(set(texts)) == len(texts) > 30


def test_ignores_files_without_scores_or_source() -> None:
    assert generate_candidates({}, {"a.py": {2: 1.0}}, []) == []
    assert generate(TEXT, {}) == []


def test_treats_headers_and_defaults_as_sites() -> None:
    text = "def f(a=1):\n    if a:\n        return 2\n    return 3\n"
    assert {candidate.edit.line for candidate in generate(text, {2: 1.0})} == {2}
    assert any("a=0" in new for new in generate_texts(text, {1: 1.0}))


def test_suspects_condition_of_suspicious_block() -> None:
    text = "def f(a, b):\n    if a:\n        return b.c\n    return 3\n"
    assert any("if a and b:" in new or "if b and a:" in new for new in generate_texts(text, {2: 0.2, 3: 1.0}))


def test_prefers_copy_with_same_predecessor() -> None:
    others = "".join(f"    a({number})\n" for number in range(9))
    text = f"def g(x):\n    told = x\n    say(told)\n{others}\n\ndef f(x):\n    told = 2 * x\n    pass\n"
    copies = generate(text, {text.count("\n"): 1.0}, family="copied")
    assert copies[0].edit.apply(text) == text.replace("pass", "say(told)")


@pytest.mark.parametrize("call", ["g(size=a)", "g(0, a)"])
def test_prefers_variable_named_like_parameter(call: str) -> None:
    text = f"def g(first=0, size=1):\n    return size\n\n\ndef f(a, b, c, size):\n    return {call}\n"
    ranked = generate(text, {6: 1.0}, family="variable")
    assert ranked[0].edit.apply(text) == text.replace(call, call.replace("a)", "size)"))


def test_limits_candidates_of_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.repair.candidates.MAX_GENERATED", 50)
    assert len(generate(f"TABLE = [{', '.join(map(str, range(1000)))}]\n", {1: 1.0})) == 50


def test_prefers_member_that_failures_quote() -> None:
    text = "def f(unit):\n    unit = unit or 'minutes'\n    return unit in ('days', 'hours')\n"
    failure = Failure(type="ValueError", message="valid units are `days`, `hours` and `minutes`")
    first, second, *_ = generate(text, {3: 1.0}, failure, family="enlisted")
    assert "('days', 'hours', 'minutes')" in first.edit.apply(text)
    assert first.score > 1.5 * second.score
