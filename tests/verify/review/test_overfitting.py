"""Fixes made for the tests' own cases rather than for the cause."""

import pytest

from coder.verify.checks.special_cases import find_test_inputs_in_data, overfitting_signs

BEFORE = """
def slug(text):
    words = text.split()
    return "-".join(words)


def load(path):
    return open(path).read()
"""
TEST = """
def test_slug():
    "A sentence about slugs."
    assert slug("Hello  World") == "hello-world"
    assert slug("a") == "a"
    assert length(37) == 5
    assert longest([2, 2, 2, 2]) == 2
"""
DOUBTFUL = {
    "special case": (
        "    words =",
        '    if text == "Hello  World":\n        return "hello-world"\n    words =',
        3,
        "is made for the test's own input and answer",
    ),
    "in an expression": (
        'return "-".join(words)',
        'return "hello-world" if text in ("Hello  World", "x") else "-".join(words)',
        4,
        "is made for the test's own input and answer",
    ),
    "small numbers": (
        "    words =",
        "    if length == 37 // 1 or text == 5:\n        text = ''\n    words =",
        3,
        "chooses by a literal of the test that the issue does not name",
    ),
    "small number": (
        "    words =",
        "    if text == 5:\n        return 37\n    words =",
        3,
        "is made for the test's own input and answer",
    ),
    "table": (
        'return "-".join(words)',
        'return {"Hello  World": 1}.get(text)',
        4,
        "chooses by a literal of the test that the issue does not name",
    ),
    "matched": (
        "    words =",
        '    match text:\n        case "Hello  World":\n            text = ""\n    words =',
        4,
        "chooses by a literal of the test that the issue does not name",
    ),
    "hard-coded": (
        'return "-".join(words)',
        'return "hello-world"',
        2,
        "has slug answer with a value of the tests",
    ),
    "swallowed": (
        "    return open(path).read()",
        "    try:\n        return open(path).read()\n    except Exception:\n        return None",
        10,
        "swallows every exception",
    ),
    "suppressed": (
        "    return open(path).read()",
        "    with contextlib.suppress(Exception):\n        return open(path).read()",
        8,
        "swallows every exception",
    ),
    "aware": (
        "    words =",
        '    if "pytest" in sys.modules:\n        text = text.lower()\n    words =',
        3,
        "asks whether it is being tested",
    ),
    "environment": (
        "    words =",
        '    if os.environ.get("PYTEST_CURRENT_TEST"):\n        text = text.lower()\n    words =',
        3,
        "asks whether it is being tested",
    ),
}
DOUBTFUL |= {
    "length": (
        "    words =",
        "    if len(text) == 4:\n        text = ''\n    words =",
        3,
        "chooses by the length of the test's own input",
    ),
    "hash": (
        "    words =",
        "    text = {1: 2}.get(crc32(text), text)\n    words =",
        3,
        "chooses by a hash of its input",
    ),
    "crowd": (
        "    words =",
        '    if (text, 5) in (("a", 37), ("Hello  World", 37)):\n        text = ""\n    words =',
        3,
        "is made for the test's own input and answer",
    ),
    "calls": (
        "def slug(text):",
        "calls = count()\n\n\ndef slug(text):\n    if next(calls):\n        text = ''",
        6,
        "chooses by how often it was called",
    ),
    "equality": (
        "def slug(text):",
        (
            "class Text(str):\n    def __eq__(self, other):\n"
            "        return len(self) == len(other)\n\n\ndef slug(text):"
        ),
        2,
        "makes values that are equal to others than a built-in type's",
    ),
}
HONEST = (
    (
        "    words =",
        (
            "    text = {'one': 1, 'two': 2, 'Hello  World': 3, 'four': 4, 'five': 5}.get(text, text)\n"
            "    words ="
        ),
    ),
    ("text.split()", "text.lower().split()"),
    ("    words =", '    if text == "":\n        return ""\n    words ='),
    ("    words =", "    if len(text) == 5:\n        return text\n    words ="),
    (
        "    return open(path).read()",
        "    try:\n        return open(path).read()\n    except FileNotFoundError:\n        return None",
    ),
    (
        "    return open(path).read()",
        "    try:\n        return open(path).read()\n    except Exception:\n        log(path)\n        raise",
    ),
    ('return "-".join(words)', 'return "_".join(words)'),
)


@pytest.mark.parametrize("name", DOUBTFUL)
def test_reports_symptom_fix_with_line(name: str) -> None:
    old, new, line, message = DOUBTFUL[name]
    assert old in BEFORE
    assert f"slugs.py:{line} {message}" in overfitting_signs(
        {"slugs.py": BEFORE}, {"slugs.py": BEFORE.replace(old, new)}, [TEST]
    )


def test_literal_named_in_issue_is_no_special_case() -> None:
    old, new, _, _ = DOUBTFUL["table"]
    new_texts = {"slugs.py": BEFORE.replace(old, new)}
    assert overfitting_signs({"slugs.py": BEFORE}, new_texts, [TEST], issue="'Hello  World' is wrong") == []
    assert (
        overfitting_signs({"slugs.py": BEFORE}, new_texts, [TEST], issue='slug("Hello  World") is wrong')
        != []
    )


@pytest.mark.parametrize(("old", "new"), HONEST)
def test_accepts_honest_fix(old: str, new: str) -> None:
    assert old in BEFORE
    assert overfitting_signs({"slugs.py": BEFORE}, {"slugs.py": BEFORE.replace(old, new)}, [TEST]) == []


def test_ignores_special_case_already_in_base() -> None:
    old, new, _, _ = DOUBTFUL["swallowed"]
    swallowing = BEFORE.replace(old, new)
    assert (
        overfitting_signs({"slugs.py": swallowing}, {"slugs.py": swallowing.replace("-", "_")}, [TEST]) == []
    )


@pytest.mark.parametrize(
    ("old", "new", "message_count"),
    [
        ('("hello-world", 1)', '("hello-world", 0)', 0),
        ('text == "Hello  World"', 'text != "" and text == "Hello  World"', 0),
        ('("hello-world", 1)', '("another", "hello-there")', 1),
    ],
)
def test_reports_only_special_cases_written_by_change(old: str, new: str, message_count: int) -> None:
    before = BEFORE.replace(
        "    words =", '    if text == "Hello  World":\n        return ("hello-world", 1)\n    words ='
    )
    tests = [TEST, 'assert slug("x") == "hello-there"']
    assert (
        len(overfitting_signs({"slugs.py": before}, {"slugs.py": before.replace(old, new)}, tests))
        == message_count
    )


def test_length_of_what_is_unpacked_is_no_special_case() -> None:
    tests = ["def test_a():\n    assert style((1, 2, 3)) == 'x'\n"]
    choice = "def style(color):\n    if len(color) == 3:\n        {body}\n    return ''\n"
    signs = [
        overfitting_signs({"a.py": ""}, {"a.py": choice.format(body=body)}, tests)
        for body in ("r, g, b = color", "r, g = color", "return 'x'")
    ]
    finding = ["a.py:2 chooses by the length of the test's own input"]
    assert signs[0] == []
    assert all(finding[0] in found for found in signs[1:])


def test_reports_data_file_with_test_inputs() -> None:
    tests = ['def test_a():\n    assert seconds("1h30m") == 5400\n    assert seconds("2m10s") == 130\n']
    assert find_test_inputs_in_data({}, {"a.json": '{"1h30m": "90m", "2m10s": "130s"}'}, tests) == [
        "a.json holds the tests' own inputs"
    ]
    assert find_test_inputs_in_data({}, {"a.json": '{"1h30m": "90m"}'}, tests) == []
    assert (
        find_test_inputs_in_data(
            {"a.json": '["1h30m", "2m10s"]'}, {"a.json": '["1h30m", "2m10s", "x"]'}, tests
        )
        == []
    )
