"""The issue's own example: how issues write it, and how it becomes a test."""

import json
import textwrap
from pathlib import Path

import pytest

from coder.core.ports import ReproducedExample
from coder.retrieval.issue_examples import claimed_examples
from coder.sandbox.process import ProcessSandbox
from coder.verify.example import (
    ExampleAnswer,
    IssueCode,
    write_example,
)
from tests.builders import find_project, lines, paragraphs, write

SESSION = ">>> cart = Cart()\n>>> cart.add(2)\n>>> cart.total()\n3\n\nI expected `2`."
SNIPPET = (
    "```python\ncart = Cart()\nprint(cart.total())\n```\n\nThis raises `KeyError: 'x'.` It should print 0."
)


@pytest.mark.parametrize(
    ("issue", "claim"),
    [
        (SESSION, ("cart = Cart()\ncart.add(2)", "cart.total()", "3", "2")),
        (SNIPPET, ("cart = Cart()", "cart.total()", "raises KeyError", "0")),
    ],
    ids=["session", "snippet"],
)
def test_statements_before_the_call_belong_to_the_example(
    issue: str, claim: tuple[str, str, str, str]
) -> None:
    example = next(claimed_examples(issue))
    assert (example.setup, example.call, example.wrong, example.right) == claim


@pytest.mark.parametrize("claim", paragraphs("examples/claims.txt", "\n-----\n"))
def test_reads_example(claim: str) -> None:
    issue, _, read = claim.rpartition("\n\n")
    example = next(claimed_examples(issue))
    expected = f"call {example.call}"
    expected += f"\nwrong {example.wrong}" if example.wrong else ""
    expected += f"\nright {example.right}" if example.right else ""
    assert read == expected


@pytest.mark.parametrize(("text", "right"), [("3", ["3"]), ("3 as before", ["3"]), ("3 February 2024", [])])
def test_a_number_may_be_a_part_of_more(text: str, right: list[str]) -> None:
    found = claimed_examples(f"`size(2)` gives 2 instead of {text}.")
    assert [example.right for example in found] == right


@pytest.mark.parametrize("issue", lines("examples/prose.txt"))
def test_reads_no_example_in_prose(issue: str) -> None:
    assert [*claimed_examples(issue)] == []


class FakeScripts(IssueCode):
    """Answers each request with the next of these lines, the last one repeatedly."""

    def __init__(self, *answers: str) -> None:
        self._lines = [*answers]

    def run_request(self, request: str, tree: Path) -> str:
        return self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]


def value(text: str) -> str:
    return json.dumps([{"error": None, "value": text}])


ERROR = '[{"error": {"type": "IndexError", "message": "out of range"}, "value": ""}]'
ISSUE, FOUR = "total([1, 2]) returns 4 instead of 3", value("4")
FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": "def total(x):\n    return 4\n\n\ndef head(x):\n    return x[0]\n",
    "tests/test_cart.py": (
        "from shop.cart import head, total\n\n\ndef test_one():\n    assert total([4]) == 4\n"
    ),
}


def reproduce(
    place: Path, issue: str, *answers: str, files: dict[str, str] = FILES
) -> ReproducedExample | str:
    write(place, files)
    return FakeScripts(*answers).reproduce(place, issue)


def reproduce_test(
    place: Path, issue: str = ISSUE, answer: str = FOUR, **files: dict[str, str]
) -> ReproducedExample:
    found = reproduce(place, issue, answer, **files)
    assert isinstance(found, ReproducedExample), found
    return found


def test_reproduced_example_is_a_test_in_the_nearest_file(tmp_path: Path) -> None:
    found = reproduce_test(tmp_path)
    assert found.test == "tests/test_cart.py::test_total_example"
    added = "\n\ndef test_total_example():\n    assert total([1, 2]) == 3\n"
    assert found.text == FILES["tests/test_cart.py"] + added


@pytest.mark.parametrize(("issue", "is_wish"), [(ISSUE, False), ("total([1, 2]) should return 3", True)])
def test_words_on_the_right_result_alone_are_a_wish(tmp_path: Path, issue: str, is_wish: bool) -> None:
    found = reproduce_test(tmp_path, issue)
    assert (found.is_wish, found.right) == (is_wish, "3")


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("from shop import total\n\ntotal([1])\n", "    assert total([1, 2]) == 3\n"),
        (
            "import re\n\nre.total([1])\n",
            "    from shop.cart import total\n\n    assert total([1, 2]) == 3\n",
        ),
    ],
    ids=["exported name", "namesake elsewhere"],
)
def test_imports_names_that_the_test_file_lacks(tmp_path: Path, start: str, line: str) -> None:
    found = reproduce_test(tmp_path, files={**FILES, "tests/test_cart.py": start})
    assert found.text == f"{start}\n\ndef test_total_example():\n{line}"


@pytest.mark.parametrize(
    ("tests", "path"),
    [
        ({"tests/test_cart.py": "", "tests/test_b.py": "from shop import cart\n"}, "tests/test_cart.py"),
        ({"tests/test_a.py": "import re\n", "tests/test_b.py": "from shop import cart\n"}, "tests/test_b.py"),
        ({"tests/test_all.py": "import re\n"}, "tests/test_all.py"),
        ({"tests/test_a.py": "", "tests/test_b.py": "import re\n"}, "tests/test_cart.py"),
        (
            {
                "tests/test_a.py": "from shop.cart import total\n\n\ndef load_tests(*_):\n    return total\n",
                "tests/test_b.py": "from shop import cart\n",
            },
            "tests/test_b.py",
        ),
    ],
    ids=["name of the module", "names the module", "only one", "none is near", "one picks its tests itself"],
)
def test_example_of_an_untested_function_lands_nearby(
    tmp_path: Path, tests: dict[str, str], path: str
) -> None:
    files = {name: text for name, text in FILES.items() if not name.startswith("tests")} | tests
    found = reproduce_test(tmp_path, files=files)
    assert found.path == path


@pytest.mark.parametrize(
    ("issue", "answer", "body"),
    [
        ("total([1]) returns 4.0 instead of 2.5", "4.0", "assert total([1]) == pytest.approx(2.5)"),
        ("total([1]) returns 'a' instead of 1b", "'a'", "assert total([1]) == '1b'"),
        ("total([1]) returns 'a' instead of None", "'a'", "assert total([1]) is None"),
        ("head([]) raises IndexError", "", "head([])"),
        ("head([]) raises IndexError instead of None", "", "assert head([]) is None"),
        ("head([]) raises IndexError, but should give /x", "", "assert str(head([])) == '/x'"),
    ],
    ids=[
        "float",
        "text without quotes",
        "no text",
        "unwanted exception",
        "value for exception",
        "unknown type",
    ],
)
def test_writes_expectation_in_type_of_result(tmp_path: Path, issue: str, answer: str, body: str) -> None:
    found = reproduce_test(tmp_path, issue, value(answer) if answer else ERROR)
    assert found.text.endswith(f"    {body}\n")


def test_writes_statements_before_the_call(tmp_path: Path) -> None:
    files = {"cart.py": "class Cart:\n    def total(self):\n        return 1\n"}
    issue = "```\nc = Cart()\nprint(c.total())\n```\nIt prints 1 instead of 2."
    found = reproduce_test(tmp_path, issue, value("1"), files=files)
    assert found.text.endswith("    from cart import Cart\n\n    c = Cart()\n    assert c.total() == 2\n")


def test_writes_method_beside_test_cases(tmp_path: Path) -> None:
    case = "class CartTest(unittest.TestCase):\n    def test_one(self):\n        total([])\n"
    text = f"import unittest\nfrom shop.cart import total\n\n\n{case}"
    found = reproduce_test(tmp_path, files={**FILES, "tests/test_cart.py": text})
    assert found.test == "tests/test_cart.py::TotalExampleTest::test_total_example"
    assert "self.assertEqual(total([1, 2]), 3)" in found.text


@pytest.mark.parametrize(
    ("issue", "answers", "reason"),
    [
        (ISSUE, [value("5")], "on the untouched code `total([1, 2])` gives 5"),
        (ISSUE, [ERROR], "on the untouched code `total([1, 2])` raises IndexError"),
        (ISSUE, [FOUR, value("6")], "`total([1, 2])` gives something else each time"),
        (ISSUE, [""], "`total([1, 2])` could not be run"),
        (
            "total([1]) returns 4 instead of the sum",
            [FOUR],
            "what `total([1])` should give is not a value that can be compared",
        ),
        ("cart.nothing([1]) returns 4 instead of 3", [FOUR], "`cart` is not defined at the top level"),
        (
            "it is slow",
            [FOUR],
            "the issue has no example in a form that is read here, such as `f(x)` returns 1 instead of 2",
        ),
    ],
    ids=["other result", "exception", "chance", "not run", "prose", "unknown name", "no example"],
)
def test_says_why_there_is_no_test(tmp_path: Path, issue: str, answers: list[str], reason: str) -> None:
    found = reproduce(tmp_path, issue, *answers)
    assert isinstance(found, str)
    assert found.startswith(reason)


def test_name_with_two_definitions_is_not_guessed(tmp_path: Path) -> None:
    found = reproduce(tmp_path, ISSUE, FOUR, files={**FILES, "shop/bill.py": "def total(x):\n    return 0\n"})
    assert found == "`total` is defined in shop/bill.py and in shop/cart.py"


@pytest.mark.parametrize(
    ("imported", "is_found"), [("from datetime import date", True), ("from arrow import date", False)]
)
def test_name_of_the_standard_library_is_imported_as_the_project_does(
    tmp_path: Path, imported: str, is_found: bool
) -> None:
    files = {**FILES, "shop/cart.py": f"{imported}\n{FILES['shop/cart.py']}"}
    found = reproduce(tmp_path, "total(date(2000, 3, 1)) returns 4 instead of 3", FOUR, files=files)
    assert isinstance(found, ReproducedExample) is is_found


@pytest.mark.parametrize(
    ("defined", "imports"),
    [("def round(x):\n    return 4\n", ("from shop.cart import round",)), ("round = int\n", ())],
)
def test_function_named_like_a_builtin_is_the_projects_own(
    tmp_path: Path, defined: str, imports: tuple[str, ...]
) -> None:
    files = {**FILES, "shop/cart.py": f"{FILES['shop/cart.py']}\n\n{defined}"}
    issue = "round(total([2.5])) returns 4 instead of 3"
    found = reproduce_test(tmp_path, issue, files=files)
    assert found.imports == (*imports, "from shop.cart import total")


SHOWN = {"error": None, "value": "4", "is_printed": False}
FAILED = {"type": "IndexError", "message": "out of range", "place": "shop/cart.py:6"}


@pytest.mark.parametrize(
    ("issue", "answer", "clause"),
    [
        (ISSUE, SHOWN, "`total([1, 2])` gives 4"),
        ("`total([1, 2])` is slow", SHOWN, "`total([1, 2])` gives 4"),
        (
            "total([1, 2]) returns 3 instead of 4",
            SHOWN,
            "`total([1, 2])` gives 4: ALREADY what the issue expects",
        ),
        (
            "```python\nx = [1]\nprint(total(x))\n```\n",
            {**SHOWN, "is_printed": True},
            "the example that ends with `print(total(x))` prints 4",
        ),
        (
            "```\nIn [1]: x = [1]\n\nIn [2]: total(x)\nOut[2]: 4\n```\n",
            SHOWN,
            "the example that ends with `total(x)` gives 4",
        ),
        (
            ">>> x = []\n>>> head(x)\n",
            {**SHOWN, "error": FAILED},
            "the example that ends with `head(x)` raises IndexError: out of range, in shop/cart.py:6",
        ),
        (
            "```\nfor x in [1]:\n    total([x])\n```",
            {**SHOWN, "value": ""},
            "the example that ends with `total([x])` runs without an error",
        ),
        ("call `total()` as ever", SHOWN, ""),
        ("`total(unknown)` is wrong", SHOWN, ""),
        ("```python\nimport copy\ncopy.copy(**{-1: 1})\n```", SHOWN, ""),
        (ISSUE, {**SHOWN, "error": {"type": "OSError", "message": "Network is unreachable"}}, ""),
        (ISSUE, {**SHOWN, "error": {"type": "NameError", "message": "name 'y' is not defined"}}, ""),
    ],
    ids=[
        *("claimed", "in backticks", "right already", "printed", "IPython", "raised", "silent"),
        *("mention", "unknown name", "code of others", "no network", "incomplete code"),
    ],
)
def test_describes_what_examples_give(
    tmp_path: Path, issue: str, answer: dict[str, object], clause: str
) -> None:
    write(tmp_path, FILES)
    scripts = FakeScripts(json.dumps([answer]))
    assert scripts.describe(tmp_path, issue) == ((clause,) if clause else ())


def test_examples_find_their_own_source_and_classes(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    write(tmp_path, {"box.py": "import inspect, pickle\n"})
    examples = IssueCode(find_project(tmp_path, sandbox=sandbox, environment={}), sandbox, sandbox.scratch)
    own = "```\nimport box\n\ndef one():\n    return 1\n\nbox.inspect.getsource(one).split()[-1]\n```\n"
    pickled = (
        "```\nimport box\n\nclass Two:\n    pass\n\ntype(box.pickle.loads(box.pickle.dumps(Two())))\n```\n"
    )
    assert [answer.partition("` ")[2] for answer in examples.describe(tmp_path, own + pickled)] == [
        "gives '1'",
        "gives <class '__main__.Two'>",
    ]


def test_examples_are_imported_from_where_they_are_defined(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    write(tmp_path, {**FILES, "pyproject.toml": "[project]\nname = 'shop'\nversion = '1'\n"})
    project = find_project(tmp_path, sandbox=sandbox, environment={})
    examples = IssueCode(project, sandbox, sandbox.scratch)
    issue = "`total([1, 2])` returns 4 instead of 3.\n\n>>> from shop.cart import head\n>>> head([])\n"
    assert examples.describe(tmp_path, issue) == (
        "`total([1, 2])` gives 4",
        "the example that ends with `head([])` raises IndexError: list index out of range, in shop/cart.py:6",
    )
    found = examples.reproduce(tmp_path, issue)
    assert isinstance(found, ReproducedExample)
    fixed = tmp_path / "fixed"
    write(fixed, {**FILES, "shop/cart.py": "def total(x):\n    return sum(x)\n"})
    answers = [
        ExampleAnswer(example=found, answer=examples.answer_again(at, found)) for at in (tmp_path, fixed)
    ]
    assert [answer.summary for answer in answers] == [
        "the issue's `total([1, 2])` gives 4 as before, instead of 3",
        "the issue's `total([1, 2])` gives 3 and gave 4 before",
    ]
    assert [(answer.is_right, answer.is_as_before) for answer in answers] == [(False, True), (True, False)]


@pytest.mark.parametrize(
    ("right", "answer", "word"),
    [
        ("raises ValueError", "0", "wrong"),
        ("raises ValueError", "raises ValueError", "right"),
        ("3", "5", "wrong"),
        ("3", "", "unknown"),
        ("", "raises KeyError", "unknown"),
        ("", "raises IndexError", "wrong"),
        ("0.33", "0.3333", "right"),
        ("0.33", "0.34", "wrong"),
        ("[0.33]", "[0.3333]", "unknown"),
    ],
)
def test_answer_that_is_neither_as_before_nor_right_is_wrong(right: str, answer: str, word: str) -> None:
    example = ReproducedExample(
        call="f()", wrong="raises IndexError", right=right, path="t.py", text="", test="t.py::test_f"
    )
    found = ExampleAnswer(example=example, answer=answer)
    assert (found.is_right, found.is_wrong) == (word == "right", word == "wrong")


def test_values_of_the_results_class_are_compared(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    code = """\
        import datetime
        from decimal import Decimal


        def due(day):
            return datetime.date(2023, 1, day)


        def price(text):
            return Decimal(text) + 1
    """
    write(tmp_path, {"bill.py": textwrap.dedent(code)})
    project = find_project(tmp_path, sandbox=sandbox, environment={})
    examples = IssueCode(project, sandbox, sandbox.scratch)
    issues = (
        "`due(2)` gives `datetime.date(2023, 1, 2)`, expected `datetime.date(2023, 1, 3)`",
        "e.g. price('1.5') returns Decimal('2.5') instead of Decimal('1.50'), one too many",
        "`price('1.5')` returns `Decimal('2.5')` instead of `Money(1)`",
    )
    due, price, unknown = (examples.reproduce(tmp_path, issue) for issue in issues)
    assert isinstance(due, ReproducedExample)
    assert due.text.endswith("import datetime\n\n    assert due(2) == datetime.date(2023, 1, 3)\n")
    assert isinstance(price, ReproducedExample)
    assert price.imports == ("from bill import price", "from decimal import Decimal")
    assert unknown == "what `price('1.5')` should give is not a value that can be compared"


@pytest.mark.parametrize(
    ("right", "line"),
    [("[1, 2]", "assert total([]) == [1, 2]"), ("raises ValueError: no", "with pytest.raises(ValueError):")],
)
def test_writes_answer_as_test(tmp_path: Path, right: str, line: str) -> None:
    write(tmp_path, FILES)
    test = write_example(tmp_path, "total([])", right)
    assert isinstance(test, ReproducedExample)
    assert f"    {line}\n" in test.text


@pytest.mark.parametrize("call", ["total(Node{value: 1})", "total([1, …])", "total([1, ...])", "total"])
def test_writes_no_test_of_a_call_that_is_cut_or_no_python(tmp_path: Path, call: str) -> None:
    write(tmp_path, FILES)
    assert write_example(tmp_path, call, "3") == f"{call} is no Python that a test can hold"


@pytest.mark.parametrize(
    "issue",
    [
        "`os.getcwd()` is expected to be what it was before, but it is another one.",
        "`acreate(self)`: await it, and get `798`.",
        "```\n>>> denest(3)\nTraceback (most recent call last):\nIndexError: x\n```\nIt should be returned.",
    ],
)
def test_words_of_a_sentence_are_no_values(issue: str) -> None:
    assert not any(example.right for example in claimed_examples(issue))
