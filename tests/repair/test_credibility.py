"""Signs that lower the credibility of an edit that passes the tests."""

from coder.python.source import PythonSource
from coder.repair.credibility import CredibilityEvidence, rate_credibility
from tests.repair.places import candidate

TEXT = "def width(text, margin):\n    padding = margin + 1\n    return len(text) + padding\n"


def worth(
    old: str,
    new: str,
    *,
    family: str = "comparison",
    issue: str = "",
    tests: str = "assert width('abc', 1) == 4711",
) -> float:
    edit = candidate(TEXT, old, new, family=family, place="a.py::width")
    return rate_credibility(
        edit, CredibilityEvidence(sources={"a.py": PythonSource("a.py", TEXT)}, issue=issue, tests=tests)
    )


def test_ordinary_edit_is_credible() -> None:
    assert worth("margin + 1", "margin - 1") == 1.0


def test_penalizes_deletion() -> None:
    assert worth("    padding = margin + 1\n", "", family="deletion") < 0.5


def test_penalizes_number_found_only_in_tests() -> None:
    assert worth("len(text) + padding", "padding + 4711") < worth("len(text) + padding", "padding + 2")
    assert worth("len(text)", "'abc' and len(text)") < 0.5


def test_accepts_corrected_text() -> None:
    text = "def notes():\n    return 'You could use flags'\n"
    for new, least, most in (("'You can use flags'", 0.6, 1.0), ("'Nobody has any'", 0.0, 0.4)):
        edit = candidate(text, "'You could use flags'", new, family="string", place="a.py::notes")
        evidence = CredibilityEvidence(
            sources={"a.py": PythonSource("a.py", text)}, issue="", tests=f"assert notes() == {new}"
        )
        assert least < rate_credibility(edit, evidence) < most


def test_penalizes_name_left_unread() -> None:
    assert worth("len(text) + padding", "len(text)") < 0.5


def test_penalizes_no_op() -> None:
    assert (
        worth("margin + 1", "margin * 1")
        == worth("margin + 1", "0 + margin")
        == worth("margin + 1", "False or margin")
        < 0.5
    )
    assert worth("margin + 1", "not (margin != 1)") == 0.3 * worth("margin + 1", "not (margin == 1)")
    assert worth("len(text)", "len(text[0:])") == 0.3 * worth("len(text)", "len(text[1:])")
    assert worth("margin + 1", "margin") == worth("margin + 1", "margin or 0") == 1.0


def test_penalizes_repeated_argument() -> None:
    text = "def f(key, value):\n    return forced(value, key)\n"
    evidence = CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
    twice, swapped = (
        rate_credibility(
            candidate(text, "forced(value, key)", f"forced({arguments})", place="a.py::f"), evidence
        )
        for arguments in ("key, key", "key, value")
    )
    assert twice < 0.5 < swapped


def test_penalizes_equal_branches() -> None:
    text = (
        "def cut(x):\n    if not isinstance(x, list):\n        return slices(x)\n    else:\n"
        "        return pieces(x)\n"
    )
    evidence = CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
    alike, turned = (
        rate_credibility(candidate(text, old, new, place="a.py::cut"), evidence)
        for old, new in (("slices", "pieces"), ("not ", ""))
    )
    assert alike < 0.5 < turned


def test_prefers_operation_found_elsewhere() -> None:
    text = f"{TEXT}\n\ndef halves(text, margin):\n    return text[: margin - 1], text[margin - 1 :]\n"
    evidence = CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
    repeated, new_operation = (
        rate_credibility(candidate(text, "margin + 1", new, place="a.py::width"), evidence)
        for new in ("margin - 1", "margin - 2")
    )
    assert repeated > new_operation == 1.0


def test_prefers_place_with_words_of_issue() -> None:
    assert 1.0 < worth("margin + 1", "margin - 1", issue="The padding is wrong") < 1.5
    assert worth("margin + 1", "margin - 1", issue="Colours look odd") == 1.0


def test_prefers_function_named_in_issue() -> None:
    assert worth("margin + 1", "margin - 1", issue="`width('a', 1)` is off") > worth(
        "margin + 1", "margin - 1", issue="width is off"
    )
    assert worth("margin + 1", "margin - 1", issue="test_x.py::test_width(a) fails") <= 1.3


BRANCHES = """\
def kind(char, text):
    if True:
        return quoted(text, "plain")
    if char == "t":
        return joined(text, "plain")
    return joined(char, "plain")
"""


def worth_of(old: str, new: str) -> float:
    edit = candidate(BRANCHES, old, new, family="comparison", place="a.py::kind")
    return rate_credibility(
        edit, CredibilityEvidence(sources={"a.py": PythonSource("a.py", BRANCHES)}, issue="", tests="")
    )


def test_penalizes_constant_condition() -> None:
    assert worth_of("if True", "if not True") < 0.3 < worth_of("if True", 'if char == "q"')


def test_penalizes_repeated_condition() -> None:
    assert worth_of("if True", 'if char == "t"') < 0.3


def test_accepts_repeated_condition_in_loop() -> None:
    text = (
        "def joined(parts):\n    if parts:\n        yield 1\n    for parts in parts:\n"
        "        if not parts:\n            yield parts\n"
    )
    edit = candidate(text, "if not parts", "if parts", family="comparison", place="a.py::joined")
    assert (
        rate_credibility(
            edit, CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
        )
        == 1.0
    )


def test_accepts_repeated_condition_after_assignment() -> None:
    text = (
        "def f(a, b):\n    if b is None:\n        a = g(b)\n    if a is None:\n        a = 1\n    return a\n"
    )
    evidence = CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
    right, other = (
        candidate(text, "b is None", new, family="variable", place="a.py::f")
        for new in ("a is None", "c is None")
    )
    assert rate_credibility(right, evidence) > 1.0 == rate_credibility(other, evidence)


def test_penalizes_opposite_of_next_branch() -> None:
    text = "def f(a, b):\n    if True:\n        return 1\n    elif a(b):\n        return 2\n    return 3\n"
    evidence = CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
    assert (
        rate_credibility(candidate(text, "True", "not a(b)", family="comparison", place="a.py::f"), evidence)
        < 0.3
    )


def test_prefers_call_consistent_with_others() -> None:
    text = "def kind(x):\n    a = cast(int, x)\n    b = cast(int, -x)\n    return cast(x, int), a, b\n"
    sources = {"a.py": PythonSource("a.py", text)}
    right, wrong = (
        candidate(text, "cast(x, int)", new, family="comparison", place="a.py::kind")
        for new in ("cast(int, x)", "cast(x, x)")
    )
    evidence = CredibilityEvidence(sources=sources, issue="", tests="")
    assert rate_credibility(wrong, evidence) < 1.0 < rate_credibility(right, evidence)


PUTTING = """\
def options(given):
    found = {}
    found["size"] = given.get("size")
    found["name"] = given.get("name")
    return found
"""


def test_penalizes_overwritten_value() -> None:
    def worth_of(old: str, new: str) -> float:
        edit = candidate(PUTTING, old, new, family="key", place="a.py::options")
        return rate_credibility(
            edit, CredibilityEvidence(sources={"a.py": PythonSource("a.py", PUTTING)}, issue="", tests="")
        )

    assert worth_of('found["name"]', 'found["size"]') == 0.3 * worth_of('found["name"]', 'found["kind"]')
    assert worth_of('found["name"] = given.get("name")', 'found["size"] = found["size"] or 1') >= worth_of(
        'found["name"]', 'found["kind"]'
    )


CHOOSING = """\
def chosen(given, least):
    wanted = given is not None
    if least:
        lowest = given[least]
    if wanted:
        return lowest + 1
"""


def test_penalizes_avoiding_undefined_name() -> None:
    def worth_of(old: str, new: str, *undefined: str) -> float:
        edit = candidate(CHOOSING, old, new, family="comparison", place="a.py::chosen")
        evidence = CredibilityEvidence(
            sources={"a.py": PythonSource("a.py", CHOOSING)},
            issue="",
            tests="",
            undefined=frozenset(undefined),
        )
        return rate_credibility(edit, evidence)

    assert worth_of("given is not None", "given is None", "lowest") == 0.2 * worth_of(
        "given is not None", "given is None"
    )
    assert worth_of("if wanted", "if not wanted", "lowest") == 0.2
    assert worth_of("if least", "if least is not None", "lowest") == 1.0
    assert worth_of("lowest + 1", "lowest + least", "lowest") == 1.0
    assert worth_of("given is not None", "given is None", "other") == 0.2, "another function reads it"
    assert worth_of("given is not None", "other is None", "other") == 1.0


def test_accepts_replacing_undefined_name() -> None:
    text = "def chosen(given):\n    if (_has(given)\n            and gven):\n        return given\n"
    evidence = CredibilityEvidence(
        sources={"a.py": PythonSource("a.py", text)}, issue="", tests="", undefined=frozenset({"gven"})
    )
    assert rate_credibility(candidate(text, "gven", "given", family="undefined_name"), evidence) == 1.0


def test_prefers_reading_unread_parameter() -> None:
    def worth_of(new: str) -> float:
        edit = candidate(
            CHOOSING.replace("chosen(given", "chosen(other, given"),
            "if least",
            f"if {new}",
            family="variable",
        )
        text = CHOOSING.replace("chosen(given", "chosen(other, given")
        return rate_credibility(
            edit, CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
        )

    assert worth_of("other") == 1.25 * worth_of("given")


def test_penalizes_merged_variables() -> None:
    def worth_of(family: str) -> float:
        edit = candidate(CHOOSING, "wanted = given", "lowest = given", family=family)
        return rate_credibility(
            edit, CredibilityEvidence(sources={"a.py": PythonSource("a.py", CHOOSING)}, issue="", tests="")
        )

    assert worth_of("variable") < 0.4 * worth_of("comparison")


def test_penalizes_double_negation() -> None:
    text = "def f(a, b):\n    return not (a and '$' in b)\n"
    evidence = CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
    twice, once = candidate(text, "in", "not in"), candidate(text, "not (a and '$' in b)", "a and '$' in b")
    assert rate_credibility(twice, evidence) < rate_credibility(once, evidence) == 1.0


def test_penalizes_mutated_parameter() -> None:
    text = "def f(graph, node):\n    found = list(graph.get(node))\n    return found\n"
    parameter, own = candidate(text, "get", "pop"), candidate(text, "return found", "return found.pop()")
    evidence = CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests="")
    assert rate_credibility(parameter, evidence) < rate_credibility(own, evidence) == 1.0


def test_penalizes_repetition() -> None:
    text = "def f(x, y):\n    yield from x.all()\n    yield from y.all()\n    g(x, y)\n"

    def worth_of(old: str, new: str) -> float:
        return rate_credibility(
            candidate(text, old, new, family="similar"),
            CredibilityEvidence(sources={"a.py": PythonSource("a.py", text)}, issue="", tests=""),
        )

    assert worth_of("y.all()", "x.all()") == 0.3 * worth_of("y.all()", "x.some()")
    assert worth_of("g(x, y)", "g(x, y, x=x)") == 0.3 * worth_of("g(x, y)", "g(x, y, z=x)")
