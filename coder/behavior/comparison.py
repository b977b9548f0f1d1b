"""Findings on the behavior of a change: calls that are answered otherwise than before, or not."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, starmap
from typing import Any, Literal, NamedTuple

from coder.core.ports import AnswerClasses
from coder.core.values import Value
from coder.core.verdict import BehaviorExample, BehaviorReport, Effect, Finding
from coder.core.verdict_summary import ARGUMENTS, STATE, common_length, describe_example, shorten_value

NOT_COMPARED = "not compared"
MISSING = "missing"
CUT = "cut"
"""Kind of a record that says that not all calls of the targets are there."""
AGAIN = "again"
"""Kind of the second answer to the very call that a test makes."""
RAISES = "raises "
TIME_OUT = "time-out"
ACCIDENTAL = (
    *("TypeError", "AttributeError", "IndexError", "KeyError", "NameError", "UnboundLocalError"),
    *("ZeroDivisionError", "RecursionError", "AssertionError"),
)
"""Exceptions that a change rarely raises on purpose; where a `raise` of its own names one, it does."""
LEAST_NARROW, LEAST_NEAR = 20, 6
"""With fewer varied inputs, near ones among them, that none differs says nothing."""
LEAST_VARIED = 3
"""With fewer different results on the base, variations are no inputs that the function can take."""
EMPTY = ("None", "''", '""', "b''", "[]", "()", "{}", "0", "False", "True", "set{}")
SHOWN, LEAST_SHOWN = 5, 2
"""Examples of a report, and those after which variations are chosen for being unlike."""
VARIED = 3
"""Rank of an example that no test calls."""
MOST_CANDIDATES, MOST_CHARACTERS = 100, 80
"""Calls of which examples are chosen, and characters of each call and answer that are compared."""
MOST_EDITED = 200


class CallKey(NamedTuple):
    """Identity of a call on both sides."""

    path: str
    name: str
    kind: Literal["own", "near", "far", "state"]
    call: str


class CallAnswer(NamedTuple):
    text: str
    test: str = ""
    is_target: bool = False
    is_direct: bool = True
    """True if the calling frame is in a test file."""
    is_affected: bool = True
    """True if the call entered a changed function."""
    data: str = ""
    """Pickled arguments, empty where they cannot be copied."""
    module: str = ""
    code_name: str = ""
    """Name of the function whose code was called: a decorator's, or its own."""
    environment: Mapping[str, str | None] = {}
    """Variables that the test has set, None for those it has removed."""
    again: str = ""
    """Another answer to a call of the same text on the same side, where there is one."""
    is_steady: bool = True
    """False if the very call was answered otherwise a second time, such as with a duration."""
    exact: str = ""
    """Text with hidden state and marks of objects that occur twice; empty where equal calls differ in it."""


class Replayed(NamedTuple):
    """Answers to one own call outside of the test: more than one where equal calls differ."""

    now: tuple[str, ...]
    later: tuple[str, ...] = ()
    """At another time, in another place, with another hash seed."""


CallAnswers = Mapping[CallKey, CallAnswer]


class ComparedFunction(Value):
    """Answers of one function on both sides."""

    path: str
    name: str
    """Qualified."""
    calls: int
    """Different calls that tests make."""
    compared: int
    """Those that could be repeated on both sides."""
    inputs: int
    """Compared calls, variations included."""
    changed: int
    """Compared calls that are answered otherwise, variations included."""
    examples: tuple[BehaviorExample, ...] = ()


def read_answers(records: Sequence[Mapping[str, Any]]) -> dict[CallKey, CallAnswer]:
    """Return recorded answers by call; of equal ones the target's, else the first."""
    answers: dict[CallKey, CallAnswer] = {}
    for record in records:
        if record["kind"] == CUT:
            continue
        kind: Any = "own" if record["kind"] == AGAIN else record["kind"]
        key = CallKey(record["path"], record["name"], kind, record["call"].replace(SHARED, ""))
        if record["kind"] == AGAIN:
            if key in answers and answers[key].exact != record["answer"]:
                is_steady = answers[key].is_steady and answers[key].text == _visible(record["answer"])
                answers[key] = answers[key]._replace(is_steady=is_steady, exact="")
            continue
        answer = CallAnswer(
            text=_visible(record["answer"]),
            exact=record["answer"],
            test=record["test"],
            is_target=record["target"],
            is_direct=record["direct"],
            is_affected=record["affected"],
            data=record.get("data") or "",
            module=record["module"],
            code_name=record["code"],
            environment=record.get("environment") or {},
        )
        if key not in answers:
            answers[key] = answer
        elif answer.is_target and not answers[key].is_target:
            answers[key] = answer._replace(again=answers[key].again, is_steady=answers[key].is_steady)
        elif answer.text != answers[key].text:
            answers[key] = answers[key]._replace(again=answer.text)
        elif answer.exact != answers[key].exact:
            answers[key] = answers[key]._replace(exact="")
    return answers


class BehaviorComparison:
    """The answers on both sides, and what follows from them."""

    def __init__(
        self,
        base: CallAnswers,
        change: CallAnswers,
        *,
        replayed: tuple[Mapping[CallKey, Replayed], Mapping[CallKey, Replayed]] = ({}, {}),
        replaced: Collection[str] = (),
        passing: Collection[str] = (),
        raised: Collection[str] = (),
        is_cut: bool = False,
        problem: str = "",
    ) -> None:
        """Compare two sides.

        `replayed` are the answers outside of the tests, `replaced` the names of the standard library for
        which the change puts code of its own, `passing` tests that pass on both sides, `raised` the names of
        exceptions that the change raises itself; it `is_cut` if calls of targets are not there, and `problem`
        is that of the runs that recorded them.
        """
        self.base = base = _follow_moves(base, change)
        self.change = change
        self._outside = replayed
        self.replayed = tuple(
            {
                key: Replayed(_unique(map(_visible, row.now)), _unique(map(_visible, row.later)))
                for key, row in side.items()
            }
            for side in replayed
        )
        self.replaced = sorted(replaced)
        self.passing = frozenset(passing)
        self.raised = frozenset(raised)
        self.is_cut, self.problem = is_cut, problem
        tested = {(key.path, key.name, key.call) for key in change if key.kind == "own"}
        self.pairs = {
            key: (base[key], answer)
            for key, answer in change.items()
            if key in base
            and _is_answer(base[key].text)
            and (base[key].text, answer.text) != (TIME_OUT, TIME_OUT)
            and _is_answer(answer.text)
            and (key.kind == "own" or (key.path, key.name, key.call) not in tested)
            and (base[key].test == answer.test or not _is_opaque(key.call))
        }
        random = {
            (key.path, key.name)
            for key in base
            if not base[key].is_steady or (key in self.replayed[0] and len(self.replayed[0][key].now) > 1)
        }
        """Functions that answer equal calls of the base differently: differences there say nothing."""
        self.changed = {
            key: pair
            for key, pair in self.pairs.items()
            if _answers_differ(*pair)
            and self._is_affected(key)
            and not pair[0].again
            and (key.path, key.name) not in random
            and not (key.kind != "own" and _is_same_error(pair[0].text, pair[1].text))
        }

    @cached_property
    def _own_calls(self) -> list[CallKey]:
        """Calls that tests make on either side."""
        return [key for key in {**self.change, **self.base} if key.kind == "own"]

    def functions(self) -> list[ComparedFunction]:
        """Return counts and examples of each function, those that answer otherwise first.

        Only calls that enter the change count.
        """
        own, inputs = (list(filter(self._is_affected, keys)) for keys in (self._own_calls, self.pairs))
        calls, compared, all_inputs, differing = (
            Counter((key.path, key.name) for key in keys)
            for keys in (own, filter(self.pairs.__contains__, own), inputs, self.changed)
        )
        found = [
            ComparedFunction(
                path=path,
                name=name,
                calls=count,
                compared=compared[path, name],
                inputs=all_inputs[path, name],
                changed=differing[path, name],
                examples=self._examples([(path, name)]),
            )
            for (path, name), count in calls.items()
        ]
        return sorted(found, key=lambda row: -row.changed)

    def _is_affected(self, key: CallKey) -> bool:
        """Tell whether a call entered a changed function on either side."""
        return any(key in side and side[key].is_affected for side in (self.base, self.change))

    def report(self) -> BehaviorReport:
        """Return counts and the most telling examples."""
        return BehaviorReport(
            calls=len(self._own_calls),
            compared=sum(key in self.pairs for key in self._own_calls),
            inputs=len(self.pairs),
            changed=len(self.changed),
            examples=self._examples(),
        )

    def findings(self) -> list[Finding]:
        """Return what keeps the change from being proven, each rule once."""
        rules: tuple[tuple[str, Effect, str], ...] = (
            ("behavior-same", "cap", self._find_same()),
            ("behavior-context", "cap", self._find_context()),
            ("behavior-unsteady", "cap", self._find_unsteady()),
            ("behavior-replaced", "cap", self._find_replaced()),
            ("behavior-narrow", "open", self._find_narrow()),
            ("behavior-other", "open", self._find_other()),
        )
        return [Finding(rule=rule, effect=effect, text=text) for rule, effect, text in rules if text]

    def _target_keys(self, side: CallAnswers) -> list[CallKey]:
        return [key for key, answer in side.items() if key.kind == "own" and answer.is_target]

    def _find_same(self) -> str:
        """Tell that no call of a target differs, where all of them could be compared."""
        keys = self._target_keys(self.change)
        answers = [self._both(key) for key in keys]
        if self.is_cut or not keys or None in answers or any(pair[0] != pair[1] for pair in answers if pair):
            return ""
        if any(key not in self.change for key in self._target_keys(self.base)):
            return ""
        if not any(self.change[key].is_affected for key in keys):
            return ""  # the change was used elsewhere, as in another process
        if any("<locals>" in key.name for key in keys):
            return ""  # what it does to the variables around it is not seen
        if any(OPAQUE.search(after) for _, after in filter(None, answers)):
            return ""  # an object shows less than it holds
        return (
            "outside of the tests the change does nothing: no call of the issue's tests is answered otherwise"
        )

    def _both(self, key: CallKey) -> tuple[str, str] | None:
        """Return a call's answers on both sides, None if it cannot be compared."""
        if key in self.pairs:
            before, after = self.pairs[key]
            if after.exact:  # hidden state in which equal calls of the base alone differ is another one
                return before.exact + before.again, after.exact + after.again
            return before.text + before.again, after.text + after.again
        old, new = (side.get(key) for side in self._outside)
        if old is None or new is None or not _is_answer(new.now[0]) or old.now[0] == NOT_COMPARED:
            return None
        return old.now[0], new.now[0]

    def _steady_on_base(self) -> Iterator[tuple[CallKey, Replayed]]:
        """Yield own calls with their replay on the change; the base's gives what its test saw."""
        old, new = self.replayed
        for key, replayed in new.items():
            is_comparable = key in old and key in self.pairs and all(map(_is_answer, replayed.now))
            is_comparable = is_comparable and TIME_OUT not in (*replayed.now, *replayed.later)
            if is_comparable and old[key].now == (self.pairs[key][0].text,):
                yield key, replayed

    def _find_context(self) -> str:
        for key, replayed in self._steady_on_base():
            if len(replayed.now) > 1:
                continue
            inside, outside = self.pairs[key][1].text, replayed.now[0]
            if outside != inside:
                shown = f"{_brief(inside, outside)} in the test and {_brief(outside, inside)} outside of it"
                return f"{shorten_value(key.call)} gives {shown}"
            later, before = replayed.later, self.replayed[0][key]
            if later and before.later == before.now and later != replayed.now and _is_answer(later[0]):
                other = f"{_brief(later[0], outside)} elsewhere or at another time"
                shown = f"{_brief(outside, later[0])}, and {other}"
                return f"{shorten_value(key.call)} gives {shown}"
        return ""

    def _find_unsteady(self) -> str:
        for key, replayed in self._steady_on_base():
            if len(replayed.now) > 1 and not self.base[key].text.startswith(RAISES):
                first, second = map(_brief, replayed.now[:2])
                return f"{shorten_value(key.call)} gives {first}, and later {second}"
        return ""

    def _find_replaced(self) -> str:
        names = " and ".join(self.replaced[:2])
        return (
            f"the change replaces {names} of the standard library, which tests use as well" if names else ""
        )

    @cached_property
    def _affected_calls(self) -> dict[tuple[str, str], list[CallKey]]:
        """Return the own calls of targets that are answered differently, by function."""
        found = defaultdict(list)
        for key in self.changed:
            if key.kind == "own" and self.change[key].is_target:
                found[key.path, key.name].append(key)
        return found

    @cached_property
    def _state_changes(self) -> set[tuple[str, str]]:
        """Return the methods of which a target expects that they change their object now."""
        return {
            function
            for function, keys in self._affected_calls.items()
            if any(_changes_state(key, self.base[key].text, self.change[key].text) for key in keys)
        }

    @cached_property
    def _tested_values(self) -> set[str]:
        """Own calls without the kinds of their collections."""
        return {_without_kinds(key.call) for key in self._own_calls}

    @cached_property
    def _varied_near_targets(self) -> dict[tuple[str, str], dict[CallKey, tuple[str, str]]]:
        """Return the answers to variations of target calls of each function whose answers to targets differ.

        Those that raise the same error as before are among them: they are unchanged. States are not: the
        object may never be in one.
        """
        varied: dict[tuple[str, str], dict[CallKey, tuple[str, str]]] = defaultdict(dict)
        for key, (old, new) in self.pairs.items():
            function = key.path, key.name
            is_near = key.kind in ("near", "far") and new.is_target and function in self._affected_calls
            if not is_near:
                continue
            if _without_kinds(key.call) not in self._tested_values:
                varied[function][key] = old.text, new.text
        return varied

    def _errors_of_targets(self, function: tuple[str, str]) -> set[str]:
        """Return the exceptions that calls of targets raised before and raise no more."""
        return {_exception(self.base[key].text) for key in self._affected_calls[function]} - {""}

    def _find_narrow(self) -> str:
        wide = {
            (key.path, key.name)
            for key in self.changed
            if key.kind != "own" and _without_kinds(key.call) not in self._tested_values
        }
        for function, rows in self._varied_near_targets.items():
            if function in wide:
                continue
            near = sum(key.kind == "near" for key in rows)
            if len(rows) < LEAST_NARROW or near < LEAST_NEAR or not all(starmap(_is_alike, rows.values())):
                continue
            example = min(self._affected_calls[function], key=lambda key: len(key.call))
            errors = self._errors_of_targets(function)
            failing = [key for key, (old, _) in rows.items() if _exception(old) in errors]
            if failing:
                other = min(failing, key=lambda key: len(key.call))
                still = f"{shorten_value(other.call)} raises {_exception(rows[other][0])} as before"
                return (
                    "the change alters nothing but the tested inputs: "
                    f"{shorten_value(example.call)} differs, {still}"
                )
            if len({old for old, _ in rows.values() if not old.startswith(RAISES)}) >= LEAST_VARIED:
                return (
                    "the change alters nothing but the tested inputs: "
                    f"{shorten_value(example.call)} differs, and none of {len(rows)} inputs around them does"
                )
        return ""

    def _find_other(self) -> str:
        expected = {
            (*function, self.change[key].text.partition(ARGUMENTS)[0])
            for function, keys in self._affected_calls.items()
            for key in keys
        }
        for key, (old, new) in self.changed.items():
            result = new.text.partition(ARGUMENTS)[0]
            if result in EMPTY and (key.path, key.name, result) in expected:
                continue  # returns nothing any more, as the targets expect
            if (key.path, key.name) in self._state_changes and _changes_state(key, old.text, new.text):
                continue
            if _exception(old.text) in ACCIDENTAL and _exception(new.text) in self.raised:
                continue  # an accidental error is raised on purpose now
            is_guard = key.kind == "own" and not new.is_target and new.is_direct and new.test in self.passing
            is_telling = self._is_affected(key) and self._is_repeatable(key)
            if is_guard and is_telling and not _is_equal(old.text, new.text):
                differs = _differs(old.text, new.text)
                return f"{shorten_value(key.call)}, which {new.test} calls and passes, {differs}"
        return ""

    def _is_repeatable(self, key: CallKey) -> bool:
        """Tell whether the base answers a call outside of its test as in it, as far as that was tried."""
        replayed = self.replayed[0].get(key)
        return replayed is None or not _is_answer(replayed.now[0]) or replayed.now == (self.base[key].text,)

    @cached_property
    def _faults(self) -> set[tuple[str, str, str]]:
        """Return the answers that the targets show to be wrong, by path and name of the function."""
        return {
            (key.path, key.name, old.text)
            for key, (old, new) in self.changed.items()
            if key.kind == "own" and new.is_target
        }

    def _is_new_error(self, key: CallKey, old: str, new: str) -> bool:
        """Tell whether an answer has become an accidental error; a faulty one may become anything."""
        if old.startswith(RAISES) or old == TIME_OUT or (key.path, key.name, old) in self._faults:
            return False
        return new == TIME_OUT or (_exception(new) in ACCIDENTAL and _exception(new) not in self.raised)

    def _examples(self, functions: Collection[tuple[str, str]] | None = None) -> tuple[BehaviorExample, ...]:
        """Return the most telling answers, of the functions given or of all that tests call.

        First accidental errors and calls that tests make, then the variation that differs without the fault
        of the targets, or in another way than these, then variations as unlike each other as possible, in
        turns: one that differs, the nearest to a call of a target that is answered as before, and one of a
        function behind those that tests call.
        """
        behind: list[CallKey] = []
        if functions is None:
            functions = self._shown_functions
            behind = [
                key for key in self.changed if (key.path, key.name) not in functions and key.kind != "own"
            ]
        changed = [key for key in self.changed if (key.path, key.name) in functions]
        changed += filter(self._is_telling, behind)
        known = {_edit(*self.changed[key]) for key in changed if key.kind == "own"}

        def plainness(key: CallKey) -> tuple[int, bool, bool, bool, int]:
            is_known = key.kind != "own" and _edit(*self.changed[key]) in known
            return self._rank(key), self._is_hidden(key), not self._is_telling(key), is_known, len(key.call)

        changed.sort(key=plainness)
        seen: set[tuple[str, str]] = set()
        shown: list[CallKey] = []
        for key in changed:
            old, new = self.changed[key]
            alike = key.name, f"{_shape(old.text)}>{_shape(new.text)}>{key.kind == 'own'}"
            if alike not in seen and (self._rank(key) < VARIED or len(shown) < LEAST_SHOWN):
                seen.add(alike)
                shown.append(key)
        shown = shown[: SHOWN - 2]
        varied = [key for key in changed if key not in shown and key.kind != "own"][:MOST_CANDIDATES]
        behind = sorted((key for key in behind if not self._is_telling(key)), key=plainness)
        pools = [varied, self._unchanged_near_targets(functions)[:MOST_CANDIDATES], behind[:MOST_CANDIDATES]]
        distances = dict.fromkeys(chain(*pools), 1.0)  # to the most similar example that is shown
        told = {text for key in shown for text in self._facts_of(key)}
        compared = 0
        while len(shown) < SHOWN and any(pools):
            for other in shown[compared:]:
                distances = {key: min(least, self._distance(key, other)) for key, least in distances.items()}
            compared = len(shown)
            pool = next(filter(None, pools))
            chosen = pool[0]
            if chosen in self.changed:
                chosen = max(pool, key=lambda key: (self._is_telling(key), distances[key]))
            pool.remove(chosen)
            facts = self._facts_of(chosen)
            if told.isdisjoint(facts if chosen.kind == "state" else facts[:1]):
                told.update(facts)
                shown.append(chosen)
                pools.remove(pool)
                pools.append(pool)
        return tuple(self._example(key) for key in shown)

    def _is_telling(self, key: CallKey) -> bool:
        """Tell whether a call is answered otherwise that did not raise what the targets are about."""
        errors = self._errors_of_targets((key.path, key.name))
        return bool(errors) and _exception(self.pairs[key][0].text) not in errors

    def _facts_of(self, key: CallKey) -> tuple[str, str]:
        """Return what an example shows, and its answers, which are told once for all states of an object."""
        example = self._example(key)
        return describe_example(example), f"{example.before} {example.after}"

    def _unchanged_near_targets(self, functions: Collection[tuple[str, str]]) -> list[CallKey]:
        """Return variations of target calls that get the same answer as before, faulty ones first, and empty
        answers last.

        Of errors these are the ones that the targets are about, and that stay near their calls.
        """
        rows = []
        for function, varied in self._varied_near_targets.items():
            errors = self._errors_of_targets(function) | {""}
            for key, (old, new) in varied.items() if function in functions else ():
                is_unchanged = old == new and key not in self.changed
                error = _exception(old)
                if is_unchanged and error in errors and (not error or key.kind == "near"):
                    is_faulty = bool(error) or (*function, old) in self._faults
                    rows.append((not is_faulty, old in EMPTY, key.kind == "far", len(key.call), key))
        return [row[-1] for row in sorted(rows)]

    def _distance(self, key: CallKey, other: CallKey) -> float:
        """Return how unlike two calls are, from 0 to 1."""
        return 1 - SequenceMatcher(None, self._row(key), self._row(other), autojunk=False).ratio()

    def _row(self, key: CallKey) -> str:
        """Return the end of a call, where its arguments are, and what differs between its answers."""
        old, new = self.pairs[key]
        answer = new.text if old.text == new.text else " ".join(map("".join, _edit(old, new)))
        return f"{key.call[-MOST_CHARACTERS:]} {answer[:MOST_CHARACTERS]}"

    def _example(self, key: CallKey) -> BehaviorExample:
        old, new = self.pairs[key]
        before, after = old.text, new.text
        if before == after and key in self.changed:
            before, after = old.exact, new.exact
            if before.partition(STATE)[0] != after.partition(STATE)[0]:
                before, after = before.partition(STATE)[0], after.partition(STATE)[0]
        return BehaviorExample(
            call=key.call,
            before=before.replace(SHARED, SHARED_TEXT),
            after=after.replace(SHARED, SHARED_TEXT),
            function=f"{key.path}::{key.name}",
            tested=key.kind == "own",
        )

    @cached_property
    def _shown_functions(self) -> set[tuple[str, str]]:
        """Functions whose calls are shown: those that tests call, else the changed ones."""
        direct = {(key.path, key.name) for key, pair in self.changed.items() if pair[1].is_direct}
        return direct or {(key.path, key.name) for key in self.changed}

    def _is_hidden(self, key: CallKey) -> bool:
        """Tell whether two answers differ in nothing that a caller sees at once."""
        old, new = self.changed[key]
        return old.text == new.text

    def _rank(self, key: CallKey) -> int:
        old, new = self.changed[key]
        if self._is_new_error(key, old.text, new.text):
            return VARIED if key.kind == "state" else 0  # the object may never be in that state
        is_raised = not _exception(old.text) and _exception(new.text) not in ("", *self.raised)
        if is_raised and key.kind != "state":
            return 1
        if key.kind == "own":
            return 1 if not new.is_target else 2
        return VARIED


def _follow_moves(base: CallAnswers, change: CallAnswers) -> CallAnswers:
    """Return the answers of the base under the places that its functions have on the change.

    A function has moved to another module or class if one of its name exists on each side alone.
    """
    old, new = ({(key.path, key.name): None for key in side} for side in (base, change))
    places: defaultdict[str, list[list[tuple[str, str]]]] = defaultdict(lambda: [[], []])
    for side, (own, other) in enumerate(((old, new), (new, old))):
        for path, name in own:
            if (path, name) not in other:
                places[name.rpartition(".")[2]][side].append((path, name))
    moves = {before[0]: after[0] for before, after in places.values() if len(before) == len(after) == 1}
    if not moves:
        return base
    return {
        CallKey(*moves.get((key.path, key.name), (key.path, key.name)), key.kind, key.call): row
        for key, row in base.items()
    }


OPAQUE = re.compile(r"<[^<>]*>")
"""Representation of an object that is no literal."""
STRING = re.compile(r"'(?:[^'\\]|\\.)*'" r'|"(?:[^"\\]|\\.)*"')
INTEGRAL = re.compile(r"(?<![\w.])(-?\d+)\.0(?![\w.])")


def _is_equal(old: str, new: str) -> bool:
    """Tell whether two answers are equal to a caller: 30 and 30.0 are, and exceptions of one type.

    How a call alters arguments that it altered before, such as a cache, counts as its own matter.
    """
    if old.startswith(RAISES) and new.startswith(RAISES):
        return old.partition(":")[0] == new.partition(":")[0]
    if ARGUMENTS in old and ARGUMENTS in new:
        old, new = old.partition(ARGUMENTS)[0], new.partition(ARGUMENTS)[0]
    if old == new:
        return True
    if set("'\"") & {*old, *new}:
        return False
    return INTEGRAL.sub(r"\1", old) == INTEGRAL.sub(r"\1", new)


def _exception(text: str) -> str:
    """Return the type of the exception that an answer is, empty for a result."""
    return text.removeprefix(RAISES).partition(":")[0] if text.startswith(RAISES) else ""


def _is_alike(old: str, new: str) -> bool:
    """Tell whether two answers are the same, or accidental exceptions of one type."""
    return old == new or _is_same_error(old, new)


def _is_same_error(old: str, new: str) -> bool:
    return _exception(old) in ACCIDENTAL and _exception(old) == _exception(new)


def _without_kinds(call: str) -> str:
    """Return a call without what tells a list from a tuple or a set."""
    return KINDS.sub("", call)


KINDS = re.compile(r"[][(){}]|,(?=[])}])|\b(?:set|frozenset|deque)\b")


def _is_answer(text: str) -> bool:
    return text not in (NOT_COMPARED, "crash", MISSING)


def _shape(text: str) -> str:
    """Return the kind of an answer: two of the same kind tell the same."""
    return text.partition(":")[0] if text.startswith(RAISES) else "time-out" if text == TIME_OUT else "result"


SHARED, SHARED_TEXT = "\x1d", "the same "
"""Mark of an object that came before, and its text."""


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _answers_differ(old: CallAnswer, new: CallAnswer) -> bool:
    """Tell whether two answers differ; in hidden state only where equal calls leave the same."""
    return old.text != new.text or bool(old.exact and new.exact and old.exact != new.exact)


def _edit(old: CallAnswer, new: CallAnswer) -> tuple[tuple[str, str, str], ...]:
    """Return what is replaced in an answer, and by what, with the character before it."""
    start = common_length(old.text, new.text)
    before, after = (f"{text[max(start - 1, 0) :][:MOST_EDITED]}" for text in (old.text, new.text))
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(
        (before[a - 1 : a], before[a:b], after[c:d]) for kind, a, b, c, d in steps if kind != "equal"
    )


def _visible(answer: str) -> str:
    """Return an answer as a caller sees it who asks neither for identity nor for hidden state."""
    return answer.partition(STATE)[0].replace(SHARED, "")


def _changes_state(key: CallKey, old: str, new: str) -> bool:
    """Tell whether a call differs in nothing but that it changes the object whose method it is now."""
    result, _, call = new.partition(ARGUMENTS)
    call_of_method = f".{key.name.rpartition('.')[2]}("
    arguments = key.call.rpartition(call_of_method)[2]
    return bool(call and arguments) and old == result and call.rpartition(call_of_method)[2] == arguments


def _differs(old: str, new: str) -> str:
    """Return what a call gave and gives now, or that it changes its arguments now."""
    if new.partition(ARGUMENTS)[0] == old.partition(ARGUMENTS)[0] and ARGUMENTS in new:
        return f"changes its arguments now: {_brief(new.partition(ARGUMENTS)[2])}"
    results = [text.partition(ARGUMENTS)[0] for text in (old, new)]
    old, new = results if results[0] != results[1] else (old, new)
    return f"gave {_brief(old, new)} and {_verb(new, old)} now"


def _brief(text: str, other: str = "") -> str:
    return _verb(text) if text.startswith(RAISES) else shorten_value(text, other=other)


def _verb(text: str, other: str = "") -> str:
    """Return what a call does, for `x and ... now`."""
    if text == TIME_OUT:
        return "does not end"
    return text.partition(":")[0] if text.startswith(RAISES) else f"gives {shorten_value(text, other=other)}"


def group_by_answers(
    alternatives: Sequence[CallAnswers], base: CallAnswers | None = None, again: CallAnswers | None = None
) -> AnswerClasses:
    """Group alternatives that answer all compared calls alike; `base` and `again` are answers without any.

    Compared are calls that every alternative with answers made, and answers steadily. Calls for which an
    alternative raises an accidental exception or does not end tell nothing, if they are not the tests' own:
    the function cannot take such values, or the machine is busy. Nor do calls that `again` has another answer
    to, such as those that read the clock, nor equal answers that hide what they hold.
    """
    answered = [answers for answers in alternatives if answers]
    keys = [key for key in (answered[0] if answered else ()) if all(_is_told(key, side) for side in answered)]
    keys = [
        key
        for key in keys
        if len({side[key].text for side in answered}) > 1 or not _is_opaque(answered[0][key].text)
    ]
    if base and again:
        keys = [key for key in keys if key not in base or again.get(key, base[key]).text == base[key].text]
    groups: dict[tuple[str, ...] | int, list[int]] = {}
    for place, answers in enumerate(alternatives):
        row = tuple(answers[key].text for key in keys) if answers else ()
        groups.setdefault(row or place, []).append(place)
    rows = [row for row in groups if isinstance(row, tuple)]
    deciding = [index for index in range(len(keys)) if len({row[index] for row in rows}) > 1]
    classes = tuple(map(tuple, groups.values()))
    calls = Counter((key.path, key.name) for key in keys if key.kind == "own")
    near = sum(key.kind == "near" for key in keys)
    is_thin = len(keys) < LEAST_NARROW and near < LEAST_NEAR
    says_little = max(calls.values(), default=0) <= 1 or is_thin
    if not deciding:
        return AnswerClasses(classes=classes, says_little=says_little)
    before = tuple(base[key].text if base and key in base else "" for key in keys)
    changed = tuple(
        sum(map(str.__ne__, row, before)) if isinstance(row, tuple) else len(keys) for row in groups
    )

    def plainness(index: int) -> tuple[bool, int, bool, int]:
        key, answers = keys[index], {row[index] for row in rows}
        return _is_opaque(key.call), -len(answers), key.kind == "far", len(key.call)

    chosen = min(deciding, key=plainness)
    texts = (row[chosen] if isinstance(row, tuple) else "" for row in groups)
    shown = tuple(text.partition("; arguments now ")[0].partition("\t")[0] for text in texts)
    return AnswerClasses(
        classes=classes,
        call=keys[chosen].call,
        answers=shown,
        changed=changed if base else (),
        says_little=says_little,
    )


def _is_opaque(text: str) -> bool:
    """Tell whether a value is or holds an object that shows less than it holds, such as a function."""
    return OPAQUE.search(STRING.sub("", text)) is not None


def _is_told(key: CallKey, answers: CallAnswers) -> bool:
    answer = answers.get(key)
    if answer is None or not answer.is_steady or answer.again or answer.text == NOT_COMPARED:
        return False
    is_accident = answer.text.startswith((TIME_OUT, *(f"{RAISES}{name}" for name in ACCIDENTAL)))
    return key.kind == "own" or not (is_accident or key.kind == "state")
