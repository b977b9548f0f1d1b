"""Findings on answers that two sides give to the same calls, and alternatives grouped by them."""

from collections import OrderedDict
from typing import Any, Self

import pytest

from coder.behavior.comparison import BehaviorComparison, CallAnswer, CallKey, Replayed, group_by_answers
from coder.behavior.runs import find_changed_code
from coder.behavior.target import coder_values
from coder.core.ports import AnswerClasses
from coder.core.verdict_summary import shorten_value

TARGET, GUARD = "tests/test_a.py::test_new", "tests/test_a.py::test_old"


def key(call: str, kind: str = "own") -> CallKey:
    return CallKey("a.py", "f", kind, f"f({call})")  # type: ignore[arg-type]


def side(rows: dict[str, str], *, guards: dict[str, str] | None = None, near: dict[str, str] | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Return the answers to calls of a target, of another test, and near the target's."""
    return {
        **{key(call): CallAnswer(text, TARGET, is_target=True) for call, text in rows.items()},
        **{key(call): CallAnswer(text, GUARD) for call, text in (guards or {}).items()},
        **{
            key(call, "near"): CallAnswer(text, TARGET, is_target=True) for call, text in (near or {}).items()
        },
    }


def rules(comparison: BehaviorComparison) -> list[str]:
    return [finding.rule.removeprefix("behavior-") for finding in comparison.findings()]


CRASH, REFUSED = "raises ZeroDivisionError: division by zero", "raises TypeError: no"
MANY = {str(number): f"'{number}th'" for number in range(20, 45)}


@pytest.mark.parametrize(
    ("base", "change", "expected"),
    [
        (side({"1": "2"}), side({"1": "3"}), []),
        (side({"1": "2"}), side({"1": "2"}), ["same"]),
        (side({"1": "2"}), side({"1": "2", "5": "7"}), []),  # a further call was not compared
        (side({"1": "2"}, near=MANY), side({"1": "3"}, near=MANY), ["narrow"]),
        (side({"1": "2"}, near=MANY), side({"1": "3"}, near={**MANY, "21": "'21st'"}), []),
        (side({"1": "2"}, near=MANY), side({"1": "'7'"}, near=dict.fromkeys(MANY, "'7'")), []),
        (side({"1": "2"}, near=MANY), side({"1": "[]"}, near=dict.fromkeys(MANY, "[]")), []),
        (
            side({"0": CRASH}, near={**MANY, "1": CRASH}),
            side({"0": "0"}, near={**MANY, "1": CRASH}),
            ["narrow"],
        ),
        (side({"0": CRASH}, near={**MANY, "1": CRASH}), side({"0": "0"}, near={**MANY, "1": "0"}), []),
        (
            side({"0": REFUSED}, near=dict.fromkeys(MANY, REFUSED)),
            side({"0": "0"}, near=dict.fromkeys(MANY, REFUSED)),
            ["narrow"],
        ),
        (side({"1": "2"}, guards={"4": "5"}), side({"1": "3"}, guards={"4": "6"}), ["other"]),
        (side({"1": "2"}, guards={"4": "[5]"}), side({"1": "3"}, guards={"4": "[5.0]"}), []),
        (side({"1": "2"}, guards={"4": "'5'"}), side({"1": "3"}, guards={"4": "'5.0'"}), ["other"]),
        (side({"1": "2"}, near={"9": "2"}), side({"1": "3"}, near={"9": "raises TypeError: no"}), []),
        (side({"1": "2"}, near={"9": "9"}), side({"1": "3"}, near={"9": "raises ValueError: no"}), []),
        (side({"1": "2"}, near={"9": "time-out"}), side({"1": "3"}, near={"9": "time-out"}), []),
        (side({"1": "2"}, near={"9": "9"}), side({"1": "3"}, near={"9": "not compared"}), []),
    ],
)
def test_finds_what_the_answers_show(
    base: dict[CallKey, CallAnswer], change: dict[CallKey, CallAnswer], expected: list[str]
) -> None:
    assert rules(BehaviorComparison(base, change, passing=[GUARD])) == expected


UNAFFECTED = {key("1"): CallAnswer("2", TARGET, is_target=True, is_affected=False)}
STATES = {key(call, "state"): CallAnswer(text, TARGET, is_target=True) for call, text in MANY.items()}


def test_says_nothing_where_the_answers_show_nothing() -> None:
    """States of an object are no inputs around the tested one; no call enters the change; calls of targets
    are missing; exceptions that the change raises are no accident.
    """
    base, change = side({"1": "2"}), side({"1": "3"})
    assert rules(BehaviorComparison(base | STATES, change | STATES)) == []
    assert rules(BehaviorComparison(UNAFFECTED, UNAFFECTED)) == []
    assert rules(BehaviorComparison(base, base, is_cut=True)) == []
    near, raising = ({key("9", "near"): CallAnswer(text, TARGET)} for text in ("9", "raises KeyError: 9"))
    assert rules(BehaviorComparison(base | near, change | raising, raised=["KeyError"])) == []


CRASHING = {"2": CRASH, "[10, 9]": "raises ValueError: of 9, 10", "33": CRASH}


@pytest.mark.parametrize(
    ("base", "change", "shown"),
    [
        (
            side({"-1.3": "'-1 -3/10'"}, near={"-2.3": "'-2 -3/10'", "-0.30000": "'-3/10'"}),
            side({"-1.3": "'-1 3/10'"}, near={"-2.3": "'-2 3/10'", "-0.30000": "'3/10'"}),
            ["f(-1.3)", "f(-0.30000)", "f(-2.3)"],
        ),
        (
            side({"1": CRASH}, near={"2": CRASH, "3": "'3'"}),
            side({"1": "'1'"}, near={"2": CRASH, "3": "'3'"}),
            ["f(1)", "f(2) as before"],
        ),
        (
            side({"1": CRASH}, near=CRASHING),
            side({"1": "'1'"}, near={"2": "'2'", "[10, 9]": "raises ValueError: of 10, 9", "33": "'33'"}),
            ["f(1)", "f([10, 9])", "f(33)", "f(2)"],
        ),
        (
            side({"1": "2"}) | {key("'x'"): CallAnswer("628.87", TARGET, is_target=True, is_affected=False)},
            side({"1": "3"}) | {key("'x'"): CallAnswer("628.91", TARGET, is_target=True, is_affected=False)},
            ["f(1)"],
        ),
    ],
    ids=["in another way", "as before", "without the fault of the target", "beside the change"],
)
def test_order_of_what_is_shown(
    base: dict[CallKey, CallAnswer], change: dict[CallKey, CallAnswer], shown: list[str]
) -> None:
    examples = BehaviorComparison(base, change).report().examples
    found = [f"{row.call}{' as before' * (row.before == row.after)}" for row in examples]
    assert found[: len(shown)] == shown
    assert len(found) == len(shown) or "as before" in shown[-1]


def test_accident_that_is_raised_on_purpose_now_breaks_no_guard() -> None:
    base = side({"1": "2"}, guards={"4": "raises KeyError: 4"})
    change = side({"1": "3"}, guards={"4": "raises ValueError: 4"})
    assert rules(BehaviorComparison(base, change, passing=[GUARD], raised=["ValueError"])) == []
    assert rules(BehaviorComparison(base, change, passing=[GUARD])) == ["other"]


@pytest.mark.parametrize(
    ("call", "expected"), [("Box(2, 1).get(1)", []), ("Box(1, 2).get(2)", ["other"]), ("", ["other"])]
)
def test_state_that_targets_expect_to_change_may_change(call: str, expected: list[str]) -> None:
    target, guard = (CallKey("a.py", "Box.get", "own", f"Box({n}).get(1)") for n in ("2, 1", "1, 2"))
    base = {target: CallAnswer("1", TARGET, is_target=True), guard: CallAnswer("1", GUARD)}
    change = {
        target: CallAnswer("1; arguments now Box(1, 2).get(1)" if call else "2", TARGET, is_target=True),
        guard: CallAnswer(f"1; arguments now {call or 'Box(2, 1).get(1)'}", GUARD),
    }
    assert rules(BehaviorComparison(base, change, passing=[GUARD])) == expected


@pytest.mark.parametrize(
    ("before", "now", "later", "expected"),
    [
        (("2",), ("3",), ("3",), []),
        (("2",), ("2",), ("2",), ["context"]),
        (("8",), ("2",), ("2",), []),  # outside, even the base answers otherwise: nothing can be said
        (("2",), ("3", "4"), ("3",), ["unsteady"]),
        (("2",), ("3",), ("2",), ["context"]),
        (("2",), ("not compared",), (), []),
    ],
)
def test_compares_answers_in_the_test_and_outside(
    before: tuple[str, ...], now: tuple[str, ...], later: tuple[str, ...], expected: list[str]
) -> None:
    replayed = ({key("1"): Replayed(before, before)}, {key("1"): Replayed(now, later)})
    assert rules(BehaviorComparison(side({"1": "2"}), side({"1": "3"}), replayed=replayed)) == expected


@pytest.mark.parametrize(("call", "inputs"), [("<Rule>", 1), ("'<Rule>'", 2)])
def test_calls_whose_text_hides_values_are_compared_in_one_test_alone(call: str, inputs: int) -> None:
    base = side({"1": "2"}, near={call: "[index]"})
    change = {**side({"1": "3"}), key(call, "near"): CallAnswer("[foo]", GUARD)}
    assert BehaviorComparison(base, change).report().changed == inputs


@pytest.mark.parametrize(
    ("old", "new", "functions"),
    [
        ("def f(x):\n    return x\n", "def f(x):\n    return -x\n", ["f"]),
        ("def f(x):\n    return x\n", 'def f(x):\n    """Text."""\n    return x\n', []),
        (
            "class A:\n    def f(self):\n        pass\n",
            "class A:\n    def f(self):\n        return 1\n",
            ["A.f"],
        ),
        (
            "N = 1\ndef f():\n    return N\ndef g(): ...\n",
            "N = 2\ndef f():\n    return N\ndef g(): ...\n",
            ["f"],
        ),
        ("class A:\n    n = 1\n    def f(self):\n        return self.n\n",) * 2 + ([],),
    ],
)
def test_finds_changed_functions(old: str, new: str, functions: list[str]) -> None:
    found = find_changed_code({"a.py": old}, {"a.py": new})
    assert found.functions == tuple(("a.py", name) for name in functions)


@pytest.mark.parametrize(
    ("old", "new", "has_fields"),
    [
        ("    x: int\n", "    x: int = field(compare=False)\n", True),
        ("    x: int\n", "    x: int\n\n    def f(self): ...\n", False),
    ],
)
def test_finds_fields_of_generated_methods(old: str, new: str, has_fields: bool) -> None:
    head = "@dataclass\nclass A:\n"
    assert find_changed_code({"a.py": head + old}, {"a.py": head + new}).has_fields is has_fields
    plain = "class A:\n"
    assert not find_changed_code({"a.py": plain + old}, {"a.py": plain + new}).has_fields
    assert not find_changed_code({"a.py": ""}, {"a.py": head + new}).has_fields


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        ("<Cart at 0x7f75c0ffee10>", "<Cart at 0x55d2b1a00e40>", True),
        ("<Template memory:7f75c0ffee10>", "<Template memory:7f75c0ffe090>", True),
        ("digest 7f75c0ffee10aa00", "digest 7f75c0ffe090aa00", False),
    ],
)
def test_addresses_do_not_tell_values_apart(one: str, other: str, are_equal: bool) -> None:
    texts = coder_values.Texts("/tree")
    assert (texts.clean(one) == texts.clean(other)) is are_equal


def nest(value: object, depth: int) -> object:
    return [nest(value, depth - 1)] if depth else value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([*range(60), 0], [*range(60), 1]),
        (dict.fromkeys(range(60), 0), {**dict.fromkeys(range(60), 0), 59: 1}),
        (set(range(60)), {*range(59), 77}),
        (nest([1], 9), nest([2], 9)),
        (nest({"a": {1, 2}}, 9), nest({"a": {1, 3}}, 9)),
    ],
)
def test_values_differ_in_what_is_not_written(one: object, other: object) -> None:
    written, again, changed = (coder_values.Texts("/tree").of(value) for value in (one, one, other))
    assert written == again != changed


class Parser:
    def __init__(self, rules: int) -> None:
        self.rules = [f"rule number {number}" for number in range(rules)]

    def __call__(self, text: str) -> str:
        return text


@pytest.mark.parametrize(("rules", "expected"), [(0, "Parser(rules=[])('ab')"), (39, "Parser(…)('ab')")])
def test_call_shows_its_arguments_whatever_its_object_holds(rules: int, expected: str) -> None:
    arguments = {"self": Parser(rules), "text": "ab"}
    call = coder_values.describe_call(Parser.__call__.__code__, arguments, coder_values.Texts("/tree"))
    assert shorten_value(call) == expected


def test_same_values_are_written_alike_on_both_sides() -> None:
    values = [[f"{tree}/a.py", object()] * 50 for tree in ("/one", "/two")]
    first, second = (
        coder_values.Texts(tree).of(value) for tree, value in zip(("/one", "/two"), values, strict=True)
    )
    assert first == second
    cycle: list[object] = []
    cycle += [cycle, 1]
    assert coder_values.Texts("/one").of(cycle)


class SharesState:
    """Copies of it have the same dictionary of attributes, as those of a model of pydantic 1."""

    def __init__(self) -> None:
        self.price = 2.0

    def __getstate__(self) -> dict[str, object]:
        return {"attributes": self.__dict__}

    def __setstate__(self, state: dict[str, object]) -> None:
        object.__setattr__(self, "__dict__", state["attributes"])


class CopiesNothing(SharesState):
    """Its copies are the object itself."""

    def __copy__(self) -> Self:
        return self


@pytest.mark.parametrize("kind", [SharesState, CopiesNothing])
def test_variations_leave_the_object_of_the_test_alone(kind: type[SharesState]) -> None:
    owner = kind()
    rows = list(coder_values.variations({"self": owner}, [], near=8, far=8))
    assert owner.price == 2.0
    assert 2.0 not in [row["self"].price for _, row in rows]


class Name(str):
    """A value that can be the argument of its own method."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("ab (c", "ab c"),
        ("a.b", ""),
        ("ab", Name("ab")),
        ([1, 2], [1, 2, 2, 1]),
        ([["a"]], [[""]]),
        ((int, str), (10, 9)),
        ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": None}, {"a": 0}),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
    ],
)
def test_far_values_have_other_shapes(value: object, other: object) -> None:
    rows = coder_values.variations({"self": Name("ab"), "value": value}, [], near=24, far=20)
    found = [row["value"] for kind, row in rows if kind == "far"]
    assert (type(other), other) in [(type(new), new) for new in found]


def answers(**texts: str) -> dict[CallKey, CallAnswer]:
    """Return answers to `f(name)`, or to a variation of the tests' calls if the name begins with its kind."""
    found: dict[CallKey, CallAnswer] = {}
    for name, text in texts.items():
        kind: Any = name[:4] if name.startswith("near") else "far" if name.startswith("far") else "own"
        found[CallKey("a.py", "f", kind, f"f({name})")] = CallAnswer(text=text)
    return found


CALLS = answers(**{f"x{count}": "1" for count in range(30)})


def test_equal_answers_are_one_class() -> None:
    found = group_by_answers([CALLS | answers(y="2"), CALLS | answers(y="3"), CALLS | answers(y="2")])
    assert found == AnswerClasses(classes=((0, 2), (1,)), call="f(y)", answers=("2", "3"))
    assert group_by_answers([CALLS] * 2) == AnswerClasses(classes=((0, 1),))


def test_equal_answers_to_few_inputs_say_little() -> None:
    assert group_by_answers([answers(x="1", y="2")] * 2).says_little
    one_call = answers(x="1", **{f"far{count}": "2" for count in range(30)})
    assert group_by_answers([one_call] * 2).says_little
    varied = answers(x="1", y="2", **{f"near{count}": "2" for count in range(6)})
    assert not group_by_answers([varied] * 2).says_little


@pytest.mark.parametrize(("text", "says_little"), [("<function g>", True), ("'<b>'", False)])
def test_equal_answers_that_hide_what_they_hold_say_little(text: str, says_little: bool) -> None:
    hidden = answers(**{f"x{count}": text for count in range(30)})
    assert group_by_answers([hidden] * 2).says_little is says_little


def test_call_that_reads_the_clock_tells_no_edits_apart() -> None:
    edits = [answers(x="1", y="2", now="7"), answers(x="1", y="3", now="8")]
    base = answers(x="0", y="0", now="6")
    found = group_by_answers(edits, base, answers(x="0", y="0", now="9"))
    assert (found.classes, found.call) == (((0,), (1,)), "f(y)")
    alike = [{**edit, **answers(y="2")} for edit in edits]
    assert group_by_answers(alike, base, answers(x="0", y="0", now="9")).classes == ((0, 1),)


@pytest.mark.parametrize(
    ("edits", "classes"),
    [
        ([answers(**{"<Cart>": "1", "longer": "1"}), answers(**{"<Cart>": "2", "longer": "2"})], 2),
        ([answers(x="1", far="raises TypeError: x"), answers(x="1", far="raises KeyError: y")], 1),
        ([answers(x="1", far="time-out"), answers(x="1", far="2")], 1),
    ],
    ids=["call that can be written decides", "values that a function cannot take", "endless"],
)
def test_what_decides_between_alternatives(edits: list[dict[CallKey, CallAnswer]], classes: int) -> None:
    found = group_by_answers(edits)
    assert (len(found.classes), found.call) == (classes, "f(longer)" if classes == 2 else "")


def test_counts_calls_that_are_answered_otherwise_than_before() -> None:
    edits = [answers(x="1", y="2", z="3"), answers(x="1", y="0", z="0")]
    assert group_by_answers(edits, answers(x="0", y="0", z="0")).changed == (3, 1)
