"""Generation and order of candidate edits."""

import pytest

from coder.core.verdict import Failure
from coder.python.source import PythonSource
from coder.repair.candidates import generate_candidates

TEXT = "def near(a, b):\n    return a < b\n\n\ndef far(a, b):\n    return a < b\n"


def test_orders_by_suspicion_and_skips_unsuspicious_lines() -> None:
    source = PythonSource("a.py", TEXT)
    both = generate_candidates({"a.py": source}, {"a.py": {2: 0.4, 6: 1.0}}, [])
    assert (both[0].edit.line, both[0].place, both[0].edit.summary) == (
        6,
        "a.py::far",
        "far: use `<=` instead of `<`",
    )
    assert {item.edit.line for item in both} == {2, 6}
    assert {
        candidate.edit.line
        for candidate in generate_candidates({"a.py": source}, {"a.py": {2: 0.04, 6: 1.0}}, [])
    } == {6}


def test_includes_less_suspicious_lines_if_few_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, suspicion = PythonSource("a.py", TEXT), {"a.py": {2: 0.15, 6: 1.0}}
    assert {candidate.edit.line for candidate in generate_candidates({"a.py": source}, suspicion, [])} == {
        2,
        6,
    }
    monkeypatch.setattr("coder.repair.candidates.MAX_CANDIDATES", 10)
    assert {candidate.edit.line for candidate in generate_candidates({"a.py": source}, suspicion, [])} == {6}


def test_order_is_deterministic_without_duplicates() -> None:
    runs = [
        generate_candidates({"a.py": PythonSource("a.py", TEXT)}, {"a.py": {2: 1.0, 6: 1.0}}, [])
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    texts = [candidate.edit.apply(TEXT) for candidate in runs[0]]
    assert len(set(texts)) == len(texts) > 30


def test_ignores_files_without_scores_or_source() -> None:
    assert generate_candidates({}, {"a.py": {2: 1.0}}, []) == []
    assert generate_candidates({"a.py": PythonSource("a.py", TEXT)}, {}, []) == []


def test_treats_headers_and_defaults_as_sites() -> None:
    text = "def f(a=1):\n    if a:\n        return 2\n    return 3\n"
    lines = {2: 1.0}
    assert {
        candidate.edit.line
        for candidate in generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": lines}, [])
    } == {2}
    assert any(
        "a=0" in candidate.edit.apply(text)
        for candidate in generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": {1: 1.0}}, [])
    )


def test_suspects_condition_of_suspicious_block() -> None:
    text = "def f(a, b):\n    if a:\n        return b.c\n    return 3\n"
    ranked = generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": {2: 0.2, 3: 1.0}}, [])
    assert any(
        "if a and b:" in candidate.edit.apply(text) or "if b and a:" in candidate.edit.apply(text)
        for candidate in ranked
    )


def test_prefers_copy_with_same_predecessor() -> None:
    others = "".join(f"    a({number})\n" for number in range(9))
    text = f"def g(x):\n    told = x\n    say(told)\n{others}\n\ndef f(x):\n    told = 2 * x\n    pass\n"
    line = text.count("\n")
    copies = [
        candidate
        for candidate in generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": {line: 1.0}}, [])
        if candidate.edit.family == "copied"
    ]
    assert copies[0].edit.apply(text) == text.replace("pass", "say(told)")


@pytest.mark.parametrize("call", ["g(size=a)", "g(0, a)"])
def test_prefers_variable_named_like_parameter(call: str) -> None:
    text = f"def g(first=0, size=1):\n    return size\n\n\ndef f(a, b, c, size):\n    return {call}\n"
    ranked = [
        candidate
        for candidate in generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": {6: 1.0}}, [])
        if candidate.edit.family == "variable"
    ]
    assert ranked[0].edit.apply(text) == text.replace(call, call.replace("a)", "size)"))


def test_limits_candidates_of_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coder.repair.candidates.MAX_GENERATED", 50)
    text = f"TABLE = [{', '.join(map(str, range(1000)))}]\n"
    assert len(generate_candidates({"a.py": PythonSource("a.py", text)}, {"a.py": {1: 1.0}}, [])) == 50


def test_prefers_member_that_failures_quote() -> None:
    text = "def f(unit):\n    unit = unit or 'minutes'\n    return unit in ('days', 'hours')\n"
    failure = Failure(type="ValueError", message="valid units are `days`, `hours` and `minutes`")
    ranked = [
        candidate
        for candidate in generate_candidates(
            {"a.py": PythonSource("a.py", text)}, {"a.py": {3: 1.0}}, [failure]
        )
        if candidate.edit.family == "enlisted"
    ]
    assert "('days', 'hours', 'minutes')" in ranked[0].edit.apply(text)
    assert ranked[0].score > 1.5 * ranked[1].score
