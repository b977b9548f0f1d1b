"""Signs that lower the credibility of an edit that passes the tests."""

import pytest

from tests.repair.places import rate

NUMBER = "assert width('abc', 1) == 4711"
PADDING = "def width(text, margin):\n    padding = {}\n    return len(text) + padding\n"
RETURNED = "def width(text, margin):\n    padding = margin + 1\n    return {}\n"
BRANCHES = """\
def kind(char, text):
    if {}:
        return quoted(text, "plain")
    if char == "t":
        return joined(text, "plain")
    return joined(char, "plain")
"""
PUTTING = (
    "def options(given):\n    found = {{}}\n    found['size'] = given.get('size')\n    {}\n    return found\n"
)
CUTTING = (
    "def cut(x):\n    if {}isinstance(x, list):\n        return {}(x)\n    else:\n        return pieces(x)\n"
)
CASTING = "def kind(x):\n    a = cast(int, x)\n    b = cast(int, -x)\n    return cast(«x, int→{}»), a, b\n"
GRAPH = "def f(graph, node):\n    found = list(graph.{}(node))\n    return {}\n"
ALL_TWICE = "def f(x, y):\n    yield from x.all()\n    yield from {}\n    {}\n"
ASSIGNED = (
    "def f(a, b):\n    if {} is None:\n        a = g(b)\n    if a is None:\n        a = 1\n    return a\n"
)
HALVES = PADDING + "\n\ndef halves(text, margin):\n    return text[: margin - 1], text[margin - 1 :]\n"
LATER = "def f(a, b):\n    if {}:\n        return 1\n    elif a(b):\n        return 2\n    return 3\n"
PADDED = "«margin + 1→{}»"
LESS_CREDIBLE = {
    "a number of the tests": (
        RETURNED.format("«len(text) + padding→padding + 4711»"),
        RETURNED.format("«len(text) + padding→padding + 2»"),
    ),
    "a text of the tests": (
        RETURNED.format("«len(text)→'abc' and len(text)» + padding"),
        RETURNED.format("«len(text)→text and len(text)» + padding"),
    ),
    "a name that nobody reads": (
        RETURNED.format("«len(text) + padding→len(text)»"),
        RETURNED.format("«len(text) + padding→len(text) - padding»"),
    ),
    "times one": (PADDING.format(PADDED.format("margin * 1")), PADDING.format(PADDED.format("margin"))),
    "plus nothing": (PADDING.format(PADDED.format("0 + margin")), PADDING.format(PADDED.format("margin"))),
    "or nothing": (PADDING.format(PADDED.format("False or margin")), PADDING.format(PADDED.format("margin"))),
    "twice denied": (
        PADDING.format(PADDED.format("not (margin != 1)")),
        PADDING.format(PADDED.format("not (margin == 1)")),
    ),
    "the whole slice": (
        RETURNED.format("len(«text→text[0:]») + padding"),
        RETURNED.format("len(«text→text[1:]») + padding"),
    ),
    "one argument twice": (
        "def f(key, value):\n    return forced(«value, key→key, key»)\n",
        "def f(key, value):\n    return forced(«value, key→key, value»)\n",
    ),
    "equal branches": (CUTTING.format("not ", "«slices→pieces»"), CUTTING.format("«not →»", "slices")),
    "constant condition": (BRANCHES.format("«True→not True»"), BRANCHES.format('«True→char == "q"»')),
    "repeated condition": (BRANCHES.format('«True→char == "t"»'), BRANCHES.format('«True→char == "q"»')),
    "opposite of the next branch": (LATER.format("«True→not a(b)»"), LATER.format("«True→not b(a)»")),
    "unlike other calls": (CASTING.format("x, x"), CASTING.format("int, x")),
    "an operation of its own": (
        HALVES.format("«margin + 1→margin - 2»"),
        HALVES.format("«margin + 1→margin - 1»"),
    ),
    "condition before no assignment": (ASSIGNED.format("«b→c»"), ASSIGNED.format("«b→a»")),
    "overwritten value": (
        PUTTING.format("found[«'name'→'size'»] = given.get('name')"),
        PUTTING.format("found[«'name'→'kind'»] = given.get('name')"),
    ),
    "negation inside a negation": (
        "def f(a, b):\n    return not (a and '$' «in→not in» b)\n",
        "def f(a, b):\n    return «not (a and '$' in b)→a and '$' in b»\n",
    ),
    "a parameter changed": (GRAPH.format("«get→pop»", "found"), GRAPH.format("get", "found«→.pop()»")),
    "a repeated statement": (
        ALL_TWICE.format("«y.all()→x.all()»", "g(x, y)"),
        ALL_TWICE.format("«y.all()→x.some()»", "g(x, y)"),
    ),
    "a repeated keyword": (
        ALL_TWICE.format("y.all()", "g(x, y«→, x=x»)"),
        ALL_TWICE.format("y.all()", "g(x, y«→, z=x»)"),
    ),
}


@pytest.mark.parametrize(("less", "more"), LESS_CREDIBLE.values(), ids=LESS_CREDIBLE)
def test_edit_is_less_credible_than_another(less: str, more: str) -> None:
    assert rate(less, tests=NUMBER) < 0.9 * rate(more, tests=NUMBER)


def test_ordinary_edit_is_credible() -> None:
    for new in ("margin - 1", "margin", "margin or 0"):
        assert rate(PADDING.format(PADDED.format(new))) == 1.0
    assert (
        rate(
            PADDING.format("margin + 1").replace("    padding", "«    padding", 1).replace("1\n", "1\n→»"),
            family="deletion",
        )
        < 0.5
    )


def test_accepts_corrected_text() -> None:
    for new, least, most in (("'You can use flags'", 0.6, 1.0), ("'Nobody has any'", 0.0, 0.4)):
        text = f"def notes():\n    return «'You could use flags'→{new}»\n"
        assert least < rate(text, family="string", tests=f"assert notes() == {new}") < most


def test_prefers_place_that_the_issue_names() -> None:
    edits = PADDING.format("«margin + 1→margin - 1»")
    rated = {
        issue: rate(edits, place="a.py::width", issue=issue)
        for issue in (
            "",
            "Colours look odd",
            "The padding is wrong",
            "width is off",
            "`width('a', 1)` is off",
        )
    }
    assert list(rated.values()) == sorted(rated.values())
    assert rated["Colours look odd"] == 1.0 < rated["The padding is wrong"] < 1.5
    assert rated["width is off"] < rated["`width('a', 1)` is off"]
    assert rate(edits, place="a.py::width", issue="test_x.py::test_width(a) fails") <= 1.3


def test_accepts_repeated_condition_in_loop() -> None:
    text = (
        "def joined(parts):\n    if parts:\n        yield 1\n    for parts in parts:\n"
        "        «if not parts→if parts»:\n            yield parts\n"
    )
    assert rate(text) == 1.0


CHOOSING = """\
def chosen({given}, least):
    {wanted} = {is_given}
    if {least}:
        lowest = given[least]
    {if_wanted}:
        return lowest{added}
"""
CHOSEN = {
    "given": "given",
    "wanted": "wanted",
    "is_given": "given is not None",
    "least": "least",
    "if_wanted": "if wanted",
    "added": " + 1",
}


def choosing(**parts: str) -> str:
    return CHOOSING.format(**CHOSEN | parts)


@pytest.mark.parametrize(
    ("parts", "undefined", "rating"),
    [
        ({"is_given": "«given is not None→given is None»"}, "lowest", 0.2),
        ({"if_wanted": "«if wanted→if not wanted»"}, "lowest", 0.2),
        ({"least": "«least→least is not None»"}, "lowest", 1.0),
        ({"added": "« + 1→ + least»"}, "lowest", 1.0),
        ({"is_given": "«given is not None→given is None»"}, "other", 0.2),  # another function reads it
        ({"is_given": "«given is not None→other is None»"}, "other", 1.0),
    ],
)
def test_penalizes_avoiding_undefined_name(parts: dict[str, str], undefined: str, rating: float) -> None:
    assert rate(choosing(**parts), undefined=undefined) == rating * rate(choosing(**parts))


def test_accepts_replacing_undefined_name() -> None:
    text = "def chosen(given):\n    if (_has(given)\n            and «gven→given»):\n        return given\n"
    assert rate(text, family="undefined_name", undefined="gven") == 1.0


def test_prefers_reading_unread_parameter() -> None:
    unread, read = (
        rate(choosing(given="other, given", least=f"«least→{new}»"), family="variable")
        for new in ("other", "given")
    )
    assert unread == 1.25 * read


def test_penalizes_merged_variables() -> None:
    merged, compared = (
        rate(choosing(wanted="«wanted→lowest»"), family=family) for family in ("variable", "comparison")
    )
    assert merged < 0.4 * compared
