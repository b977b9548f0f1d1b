"""Edits of existing tests by a change: weakened, removed, renamed or rewritten ones."""

import ast
import doctest
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from coder.core.paths import test_file_of, test_function_of
from coder.core.text import join_first, shorten_line
from coder.core.verdict import ReplacedAssertion
from coder.index.parsers import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.python.source import Function, dump_node, parse_or_empty
from coder.verify.languages import (
    CHAINS,
    SYNTAX_TABLES,
    SyntaxTable,
    called_name,
    extension_of,
    function_name,
    literal_value,
)
from coder.verify.test_files import has_title
from coder.workspace.workspace import format_count

MUTING = (
    *("skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "SkipTest", "skipTest"),
    "importorskip",
)
MOCKS = ("Mock", "MagicMock", "AsyncMock", "patch", "setattr", "setitem", "mocker", "create_autospec")
EXITS = ("sys.exit", "os._exit", "pytest.exit", "exit", "quit", "_exit")
BROAD = ("Exception", "BaseException")
EXPECTATION_CALLS = (
    "raises",
    "warns",
    "assertRaises",
    "assertRaisesRegex",
    "assertWarns",
    "assertWarnsRegex",
)
MODULE_WIDE_SETTINGS = ("pytestmark", "collect_ignore", "collect_ignore_glob", "__test__")


class Check(NamedTuple):
    """An assertion of a test."""

    text: str
    strength: int
    """4: states a value, 3: a property of it, 2: that it exists, 0: nothing."""
    times: int = 1
    """Number of cases that it runs in, by parametrization and loops over literals."""


class ParsedTest(NamedTuple):
    """A test function with its checks."""

    function: Function
    cases: int
    """Number of its cases, as far as the file tells; 1 where it does not."""
    checks: tuple[Check, ...]
    """Its checks, counted once for each round of a loop over literals."""


def weakened_tests(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Describe how tests of `old` (source by path) became weaker in `new`, half a sentence each.

    New tests are not compared.
    """
    findings: list[str] = []
    for path, text in old.items():
        before, after = parse_or_empty(text), parse_or_empty(new.get(path, ""))
        new_tests = read_tests(after)
        findings += [f"{path}: {finding}" for finding in _changed_settings(before, after)]
        for name, test in read_tests(before).items():
            if name in new_tests and dump_node(test.function) != dump_node(new_tests[name].function):
                findings += [
                    f"{path}: {name} {finding}" for finding in find_weakenings([test], [new_tests[name]])
                ]
    return findings


def removed_tests(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return ids of tests of `old` that no file of `new` contains under the same function name."""
    names = {test.rpartition("::")[2] for test in _read_all(new)}
    return [test for test in _read_all(old) if test.rpartition("::")[2] not in names]


def dotted_name(node: ast.expr) -> str:
    """Return the dotted name of a function or expression, as far as it consists of names."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{dotted_name(value)}.{name}".lstrip(".")
        case ast.Call(func=function):
            return dotted_name(function)
        case _:
            return ""


def read_tests(module: ast.Module) -> dict[str, ParsedTest]:
    """Return the test functions of a file by qualified name."""
    tests: dict[str, ParsedTest] = {}
    for node in module.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in inner:
            if isinstance(function, Function) and function.name.startswith("test"):
                name = f"{owner}{function.name}"
                tests[name] = ParsedTest(
                    function, _count_cases(function, module), tuple(_find_checks(function, 1))
                )
    return tests


def _changed_settings(before: ast.Module, after: ast.Module) -> Iterator[str]:
    """Yield new or changed assignments that silence tests of a file or class."""
    old, new = (Counter(_settings(tree)) for tree in (before, after))
    for name, _ in new - old:
        yield f"{name} is reassigned, which decides what is run"


def _settings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id in MODULE_WIDE_SETTINGS:
                    yield target.id, dump_node(node.value)


def find_weakenings(before: Sequence[ParsedTest], after: Sequence[ParsedTest]) -> Iterator[str]:
    """Yield how tests are weaker than those in whose place they are, half a sentence each.

    If there are several, any assertion of one may stand for one of another.
    """
    for count, finding in (
        (partial(_mention_count, names=MUTING), "is skipped or expected to fail now"),
        (partial(_mention_count, names=MOCKS), "puts mocks in the place of real parts now"),
        (_exit_count, "ends the process now"),
        (_swallowed_check_count, "swallows its own assertions now"),
    ):
        if max(count(test.function) for test in after) > max(count(test.function) for test in before):
            yield finding
    old, new = (
        [check._replace(times=check.times * test.cases) for test in tests for check in test.checks]
        for tests in (before, after)
    )
    yield from compare_checks(old, new, counts_repetitions=len(before) + len(after) > 2)


def compare_checks(
    before: Sequence[Check], after: Sequence[Check], *, counts_repetitions: bool = False
) -> Iterator[str]:
    """Yield how the checks of a test became weaker, half a sentence each.

    A check that is on both sides counts once wherever it is written, unless the cases that it runs in make
    up for others (`counts_repetitions`).
    """
    old, new = ({check.text for check in checks} for checks in (before, after))
    counts = _count(before, new, counts_repetitions), _count(after, old, counts_repetitions)
    lost, gained = [*(counts[0] - counts[1]).elements()], [*(counts[1] - counts[0]).elements()]
    if len(gained) < len(lost):
        yield f"checks less than before ({format_count(len(lost) - len(gained), 'check')} fewer)"
    elif any(weak < strong for strong, weak in zip(_strengths(lost), _strengths(gained), strict=False)):
        yield "checks more loosely than before"


def _count(checks: Sequence[Check], others: Collection[str], counts_repetitions: bool) -> Counter[Check]:
    counts: Counter[Check] = Counter()
    for check in checks:
        is_repeated = counts_repetitions or check.text not in others
        counts[check._replace(times=1)] += check.times if is_repeated else 1
    return counts


def _strengths(checks: Sequence[Check]) -> list[int]:
    return sorted((check.strength for check in checks), reverse=True)


def _find_checks(node: ast.AST, times: int) -> Iterator[Check]:
    """Yield each check below a node, which runs as many times as given."""
    if check := read_check(node):
        yield check._replace(times=times)
    inner = times
    if isinstance(node, ast.For) and isinstance(node.iter, ast.List | ast.Tuple | ast.Set):
        inner *= max(1, len(node.iter.elts))
    for child in ast.iter_child_nodes(node):
        yield from _find_checks(child, inner)


def _count_cases(test: Function, module: ast.Module) -> int:
    """Return in how many cases a test runs, as far as lists in the file tell; 1 where they do not."""
    lists = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    count = 1
    for decorator in test.decorator_list:
        if not isinstance(decorator, ast.Call) or not dotted_name(decorator).endswith("parametrize"):
            continue
        cases = next(
            (word.value for word in decorator.keywords if word.arg == "argvalues"),
            decorator.args[1] if len(decorator.args) > 1 else None,
        )
        cases = lists.get(cases.id, cases) if isinstance(cases, ast.Name) else cases
        if isinstance(cases, ast.List | ast.Tuple | ast.Set):
            count *= max(1, len(cases.elts))
    return count


def read_check(node: ast.AST) -> Check | None:
    """Return the check of a test that a node is; None if it is none."""
    match node:
        case ast.Assert(test=claim):
            return Check(dump_node(claim), _strength(claim))
        case ast.Call(func=function) if (
            name := dotted_name(function).rpartition(".")[2]
        ) in EXPECTATION_CALLS:
            broad = any(dotted_name(argument).rpartition(".")[2] in BROAD for argument in node.args[:1])
            has_pattern = any(
                word.arg in ("match", "expected_regex") for word in node.keywords
            ) or name.endswith("Regex")
            return Check(dump_node(node), (1 if broad else 3) + has_pattern)
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert"):
            is_value = name in ("assertEqual", "assertIs", "assertEquals") or "called_once_with" in name
            return Check(dump_node(node), 4 if is_value else 3)
        case _:
            return None


def _strength(claim: ast.expr) -> int:
    match claim:
        case ast.Constant():
            return 0
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return 2
        case ast.Compare(ops=ops) if all(isinstance(operator, ast.Eq | ast.Is) for operator in ops):
            return 4
        case ast.BoolOp(op=ast.Or(), values=values):
            return min(map(_strength, values)) - 1
        case ast.BoolOp(values=values):
            return max(map(_strength, values))
        case ast.Compare() | ast.UnaryOp() | ast.Call():
            return 3
        case _:
            return 2


def _mention_count(test: Function, names: tuple[str, ...]) -> int:
    """Count decorators, calls and raised exceptions of a test that use one of these names."""
    nodes = [*test.decorator_list, *(node.func for node in ast.walk(test) if isinstance(node, ast.Call))]
    raised = [node.exc for node in ast.walk(test) if isinstance(node, ast.Raise) and node.exc is not None]
    return len({id(node) for node in (*nodes, *raised) if set(dotted_name(node).split(".")) & set(names)})


def _exit_count(test: Function) -> int:
    return sum(isinstance(node, ast.Call) and dotted_name(node.func) in EXITS for node in ast.walk(test))


def _swallowed_check_count(test: Function) -> int:
    """Count the `try` statements with an assertion whose handler swallows AssertionError."""
    return sum(
        any(isinstance(inner, ast.Assert) for statement in node.body for inner in ast.walk(statement))
        for node in ast.walk(test)
        if isinstance(node, ast.Try)
        and any(
            catches_all(handler, "AssertionError") and is_silent(handler.body) for handler in node.handlers
        )
    )


def catches_all(handler: ast.ExceptHandler, *more: str) -> bool:
    """Tell whether a handler catches every error, or one of those named."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or dotted_name(kind).rpartition(".")[2] in (*BROAD, *more) for kind in types)


def is_silent(body: list[ast.stmt]) -> bool:
    """Tell whether a handler ignores the exception: it neither raises nor reports nor uses it."""
    return all(
        isinstance(statement, ast.Pass | ast.Continue | ast.Break)
        or (
            isinstance(statement, ast.Return)
            and (statement.value is None or isinstance(statement.value, ast.Constant))
        )
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


ALIKE = 0.6
"""Similarity ratio (difflib, 0 to 1) of the syntax from which a test may be a successor."""
NAME = "name "
"""Prefix of words that are names."""
SHOWN = 2
SHARED_NAMES = 0.7
"""Share of the names used by a removed test that its successor uses too."""


class Succession(NamedTuple):
    """Tests of the base and those that take their place, as function ids (`path::Class::test`)."""

    removed: tuple[str, ...]
    """The missing tests, and tests whose edited versions are among the successors."""
    successors: tuple[str, ...]


def find_successions(
    old: Mapping[str, str], new: Mapping[str, str], gone: Collection[str]
) -> tuple[Succession, ...]:
    """Return the successions of the tests `gone`, by function id; tests without a successor are left out.

    `old` and `new` are the changed test files by path. A successor is a test that the change adds or edits,
    in the same file if one is there.
    """
    before, after = _read_all(old), _read_all(new)
    edited = [
        test
        for test in after
        if test not in before or dump_node(before[test].function) != dump_node(after[test].function)
    ]
    return group_successions(
        {test: _successors_of(test, before[test], after, edited) for test in gone if test in before}, before
    )


def group_successions(
    successors_of: Mapping[str, Sequence[str]], before: Collection[str]
) -> tuple[Succession, ...]:
    """Join the tests that share successors; `before` are the ids of all tests of the base."""
    groups: list[tuple[set[str], set[str]]] = []
    for test, successors in successors_of.items():
        if not successors:
            continue
        group = ({test, *(other for other in successors if other in before)}, {*successors})
        for other in [other for other in groups if other[0] & group[0] or other[1] & group[1]]:
            groups.remove(other)
            group = (group[0] | other[0], group[1] | other[1])
        groups.append(group)
    return tuple(Succession(tuple(sorted(removed)), tuple(sorted(added))) for removed, added in groups)


def find_removed_functions(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the ids of test functions that are in `old` and not in `new`."""
    after = _read_all(new)
    return [test for test in _read_all(old) if test not in after]


def has_fewer_checks(
    succession: Succession,
    old: Mapping[str, str],
    new: Mapping[str, str],
    *,
    count_before: Callable[[str], int],
    count_after: Callable[[str], int],
) -> bool:
    """Tell whether the successors check less, counting each check in each case.

    `count_before` and `count_after` return how many cases of a function pass.
    """
    return _count_checks(_read_all(new), succession.successors, count_after) < _count_checks(
        _read_all(old), succession.removed, count_before
    )


def weakened_successors(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """Yield how successors of removed tests are weaker than these, half a sentence each."""
    before, after = _read_all(old), _read_all(new)
    for succession in find_successions(old, new, find_removed_functions(old, new)):
        findings = find_weakenings(
            [before[test] for test in succession.removed], [after[test] for test in succession.successors]
        )
        place = f"{join_names(succession.successors)}, in the place of {join_names(succession.removed)},"
        yield from (f"{place} {finding}" for finding in findings)


def join_names(tests: Sequence[str]) -> str:
    """Return the names of tests, without their files, as a list: the first few, and how many more."""
    return join_first([test.partition("::")[2] for test in tests], SHOWN)


def names_used_by(texts: Mapping[str, str], test: str) -> set[str]:
    """Return the names that a Python test uses, without its parameters and variables; texts by path."""
    parsed = _read_all({path: text for path, text in texts.items() if path == test_file_of(test)})
    found = parsed.get(test_function_of(test))
    words = _syntax_words(found.function) if found else []
    return {word.removeprefix(NAME) for word in words if word.startswith(NAME)}


def _count_checks(
    tests: Mapping[str, ParsedTest], names: Sequence[str], count_cases: Callable[[str], int]
) -> int:
    return sum(sum(check.times for check in tests[name].checks) * count_cases(name) for name in names)


def _read_all(texts: Mapping[str, str]) -> dict[str, ParsedTest]:
    return {
        f"{path}::{name.replace('.', '::')}": test
        for path, text in texts.items()
        for name, test in read_tests(parse_or_empty(text)).items()
    }


def _successors_of(
    test: str, removed: ParsedTest, after: Mapping[str, ParsedTest], edited: Sequence[str]
) -> list[str]:
    """Return the tests that resemble a removed one: of its name, else in its file, else in any."""
    if test in after:  # only its cases are others
        return [test]
    words = _syntax_words(removed.function)
    alike = [other for other in edited if are_alike(words, _syntax_words(after[other].function))]
    moved = [other for other in alike if other.rpartition("::")[2] == test.rpartition("::")[2]]
    in_same_file = [other for other in alike if test_file_of(other) == test_file_of(test)]
    return moved or in_same_file or alike


def are_alike(old_words: Sequence[str], new_words: Sequence[str]) -> bool:
    """Tell whether two lists of syntax, in which names begin with `NAME`, are mostly the same."""
    names = {word for word in old_words if word.startswith(NAME)}
    shared = len(names & {*new_words})
    return shared >= SHARED_NAMES * len(names) and (
        SequenceMatcher(None, old_words, new_words, autojunk=False).ratio() >= ALIKE
    )


def _syntax_words(test: Function) -> list[str]:
    """Return the syntax of a test's body as a list of words.

    Literals, parameters and local variables are all the same, since parametrization turns one into another.
    """
    local = {argument.arg for argument in ast.walk(test.args) if isinstance(argument, ast.arg)}
    nodes = [node for statement in test.body for node in ast.walk(statement)]
    local |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    words = []
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str() as name):
                words.append(f"{NAME}{name}")
            case ast.Name(id=name) if name not in local:
                words.append(f"{NAME}{name}")
            case ast.Constant() | ast.Name():
                words.append("value")
            case ast.expr_context():
                pass
            case _:
                words.append(type(node).__name__)
    return words


MOST_SHOWN = 5
LONGEST = 100
"""Characters of one side of an assertion."""
_ASSERTION_LINE = re.compile(r"(?i)assert|expect|should|require|\bverify\b|\.(?:equal|same|is)\(")


def find_replaced_assertions(
    old: Mapping[str, str],
    new: Mapping[str, str],
    tests: Sequence[str],
    files_of: Callable[[str], Sequence[str]],
) -> tuple[ReplacedAssertion, ...]:
    """Return the replaced assertions of tests, the first few.

    `old` and `new` are the changed test files by path; `files_of` returns those that define a test. Cases of
    a parametrization count as assertions. Where no assertion differs, other lines of the files are returned.
    """
    found: dict[ReplacedAssertion, None] = {}
    for function in dict.fromkeys(map(test_function_of, tests)):
        pairs = list(_pair(*_claims_on_both_sides(old, new, function)))
        files = [path for path in files_of(function) if path in old]
        for pattern in (_ASSERTION_LINE, re.compile("")):
            if not pairs:
                pairs = [
                    pair
                    for path in files
                    for pair in _pair(_lines(old[path], pattern), _lines(new.get(path, ""), pattern))
                ]
        found |= {
            ReplacedAssertion(
                test=function,
                old=shorten_line(before.strip(), LONGEST),
                new=shorten_line(after.strip(), LONGEST),
            ): None
            for before, after in pairs
        }
    return tuple(found)[:MOST_SHOWN]


def _claims_on_both_sides(
    old: Mapping[str, str], new: Mapping[str, str], function: str
) -> tuple[list[str], list[str]]:
    """Return the assertions of a Python test and of those that take its place."""
    successions = find_successions(old, new, [function])
    removed = successions[0].removed if successions else [function]
    added = successions[0].successors if successions else [function]
    return (
        [claim for test in removed for claim in _claims(old, test)],
        [claim for test in added for claim in _claims(new, test)],
    )


def _claims(texts: Mapping[str, str], function: str) -> list[str]:
    """Return the source of each assertion of a test function and of each of its cases."""
    text = texts.get(test_file_of(function), "")
    test = read_tests(parse_or_empty(text)).get(function.partition("::")[2].replace("::", "."))
    if test is None:
        return []
    nodes = [node for node in ast.walk(test.function) if isinstance(node, ast.stmt | ast.expr)]
    checks: list[ast.stmt | ast.expr] = [node for node in nodes if read_check(node)]
    for decorator in test.function.decorator_list:
        if isinstance(decorator, ast.Call) and dotted_name(decorator).endswith("parametrize"):
            checks += [
                case
                for argument in decorator.args[1:2]
                if isinstance(argument, ast.List | ast.Tuple)
                for case in argument.elts
            ]
    checks.sort(key=lambda node: (node.lineno, node.col_offset))
    return [ast.get_source_segment(text, node) or "" for node in checks]


def _lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and pattern.search(line)]


def _pair(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what of the old is replaced or removed, with what is in its place."""
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            pairs = zip_longest(old[start:end], new[new_start:new_end], fillvalue="")
            yield from ((before, after) for before, after in pairs if before)


Examples = tuple[tuple[str, str], ...]
"""Pairs of source and expected output, from top to bottom."""


def doctest_examples(text: str) -> Examples:
    """Return the examples in all docstrings of a source file; empty if one of them cannot be parsed."""
    parser = doctest.DocTestParser()
    documented_nodes = (
        node
        for node in ast.walk(parse_or_empty(text))
        if isinstance(node, ast.Module | ast.ClassDef | Function)
    )
    docstrings = [
        docstring for node in documented_nodes if (docstring := ast.get_docstring(node, clean=False))
    ]
    try:
        return tuple(
            (example.source, example.want)
            for docstring in docstrings
            for example in parser.get_examples(docstring)
        )
    except ValueError:
        return ()


def paths_with_same_examples(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the paths of sources (texts by path) that have examples, the same ones on both sides."""
    return frozenset(
        path
        for path, text in old.items()
        if (before := doctest_examples(text)) and path in new and doctest_examples(new[path]) == before
    )


_TITLED = re.compile(
    r"(?:RSpec\.)?[fx]?(?:it|test|specify|example|describe|context|suite)(?:\.\w+)*(?:\(.*\))?|\w+\.Run",
    re.DOTALL,
)
"""Calls of test frameworks that take the title of a test or of a group of tests."""
_TEST_MARK = re.compile(
    r"^[@#\[](?:.*\W)?(?:\w+::)?(?:test|Test|ParameterizedTest|RepeatedTest|rstest|test_case)\b"
    r"|^/\*.*@test\b",
    re.DOTALL,
)
_SKIPPED = re.compile(
    r"\b(?:it|test|specify|describe|context|suite|t|ctx|this)\.(?:skip|todo|failing|fixme|Skip|Skipf|SkipNow)\b"
    r"|^x(?:it|test|describe|context|specify|example)\b|\bassum(?:e|ing)\w*$"
    r"|^(?:skip|pending)$|\.markTest(?:Skipped|Incomplete)$|^(?:GTEST_SKIP|SKIP)$"
    r"|^[@#\[!]+(?:Disabled|Ignore|ignore|should_panic)\b"
)
_FOCUSED = re.compile(
    r"^f(?:it|test|describe|context|specify)\b|\b(?:it|test|specify|describe|context|suite)\.only\b"
)
_OPTION = re.compile(
    r"\b(skip|todo|only)\s*:\s*(?!false\b)|:(skip|pending|focus)\b|\b(pending|focus):\s*(?!false\b)"
)
"""An option of `node:test`, or metadata of RSpec."""
_OPTIONS = frozenset({"object", "pair", "simple_symbol"})
_FOCUS_MARK = "it.only"
_CHECK = re.compile(
    r"(?:(?:\$this|self|static|Assert)\.)?"
    r"(?:assert|expect|verify|should|debug_assert|prop_assert|require(?!_relative)|ensure)\w*(?:[.!(].*)?"
    r"|\w*(?:CHECK|ASSERT|EXPECT|REQUIRE)\w*|(?:ck|cr|mu|tt)_\w*assert\w*|TEST_ASSERT\w*"
    r"|\w+\.(?:Errorf?|Fatalf?|Fail|FailNow|equal|deepEqual|ok|is|same|notEqual|throws|rejects|like|match|true|false)"
    r"|.*\.(?:should|must|to|not_to|to_not)\b.*",
    re.DOTALL,
)
_STRONG = re.compile(
    r"(?i)equal|same\b|assertSame|toBe$|_eq|\beql?\b|match_array|contain_exactly|isEqualTo|calledWith|snapshot"
    r"|\.is$|containsExactly"
)
_WEAK = re.compile(
    r"(?i)not_?(?:null|nil|empty)|defined$|truthy|fals[ey]+$|exists?$|noError|\.error$|(?:not_to|to_not)\b"
    r"|assert(?:Is(?!Same)\w+|InstanceOf)$|expect\.any"
)
_COMPARISON = re.compile(r"[=!]==?")
_PRESENCE = re.compile(
    r"[!=]==?\s*(?:nil|null|NULL|undefined)\b|\.is_(?:ok|some|err)\(\)|\bexpect\.any(?:thing)?\("
)
_MATCHING = frozenset({"to", "not_to", "to_not", "should", "should_not"})
"""Methods of RSpec whose argument says what is expected."""
_NOTHING = re.compile(r"\(\s*(?:true|1)\s*[,)]")
_NEUTRAL = frozenset(
    {
        *("async", "await", "const", "def", "do", "end", "false", "final", "fn", "for", "func"),
        *("function", "if", "in", "it", "let", "nil", "null", "public", "return", "static", "test"),
        *("true", "var", "void", "describe", "specify", "expect", "assert", "assert_eq", "to", "eq"),
        *("t", "testing", "T", "Test", "toBe", "toEqual", "toThrow", "equal", "strictEqual"),
        *("deepEqual", "deepStrictEqual", "rejects", "assertEquals", "assertTrue", "assertThat"),
        *("assertSame", "isEqualTo", "this", "Errorf", "Fatalf"),
    }
)
"""Words that tests of anything contain."""
_TOKEN = re.compile(
    r"""(?P<literal>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|\d[\w.]*)|(?P<name>[A-Za-z_$][\w$]*)|\S"""
)
PROGRAM = "main"
"""Name of the function that is the test of a whole program."""


class _Test(NamedTuple):
    """A test, or a group of tests, without the tests in it."""

    checks: list[Check]
    skips: int
    focuses: int
    words: tuple[str, ...]
    """Its syntax without literals, for comparison with other tests."""


def weakened_tests_in(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Describe how tests of `old` (source by path) became weaker in `new`, half a sentence each."""
    findings = []
    for path, text in old.items():
        before, after = _tests(path, text), _tests(path, new.get(path, ""))
        focused = [name for name, test in after.items() if test.focuses]
        if focused and not any(test.focuses for test in before.values()):
            findings.append(f"{path}: no test but {focused[-1]} is run now")
        for name, test in before.items():
            if name not in after or test == after[name]:
                continue
            if after[name].skips > test.skips:
                findings.append(f"{path}: {name} is skipped or expected to fail now")
            findings += [f"{path}: {name} {what}" for what in compare_checks(test.checks, after[name].checks)]
    return findings


def source_of_test(path: str, text: str, test_id: str) -> str:
    """Return the source of a test in its file; empty if it is not found."""
    table, root = SYNTAX_TABLES[extension_of(path)], parse_syntax(extension_of(path), text.encode())
    sources = [
        node_text(node)
        for node in walk_syntax(root)
        if (name := _test_name(table, node)) and has_title(test_id, name)
    ]
    return "\n".join(sources)


def removed_names(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the tests of `old` that no file of `new` contains under the same title or name."""
    names = {name for path, text in new.items() for name in _tests(path, text)}
    return [name for path, text in old.items() for name in _tests(path, text) if name not in names]


class RenamedTests(NamedTuple):
    """Tests of one file that the change removes or moves, by title, and those that take their place."""

    path: str
    new_path: str
    """The file of the successors: another one if the change moves the whole file."""
    removed: tuple[str, ...]
    successors: tuple[str, ...]
    checks_before: int
    """Number of checks of the removed tests."""
    checks_after: int
    """Number of checks of the successors, each counted once."""
    findings: tuple[str, ...]
    """Descriptions of looser checks, half a sentence each."""


def find_renamed_in(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[RenamedTests]:
    """Yield the removed tests of each file that resemble tests which the change adds or edits there.

    All tests of a file that the change moves are succeeded by those of the same title in its new place.
    """
    for path, new_path in _pair_files(old, new):
        before, after = _tests(path, old[path]), _tests(new_path, new[new_path])
        edited = [name for name, test in after.items() if before.get(name) != test]
        successors_of = {
            name: [name]
            if name in after
            else [other for other in edited if _is_alike_test(before, name, after, other)]
            for name, test in before.items()
            if (test.checks and name not in after) or (path != new_path and _is_moved(test, after.get(name)))
        }
        for removed, successors in group_successions(successors_of, before):
            yield _compare(path, new_path, removed, successors, before, after)
    yield from _find_moved(old, new)


def _find_moved(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[RenamedTests]:
    """Yield tests that the change takes from one file and adds under the same title to another one."""
    kept = sorted(old.keys() & new.keys())
    before = {path: _tests(path, text) for path, text in old.items()}
    after = {path: _tests(path, text) for path, text in new.items()}
    for path in kept:
        for name in before[path].keys() - after[path].keys():
            places = [
                other for other in sorted(after) if name in after[other] and name not in before.get(other, {})
            ]
            if len(places) == 1 and _is_moved(before[path][name], after[places[0]][name]):
                yield _compare(path, places[0], (name,), (name,), before[path], after[places[0]])


def _is_moved(before: _Test, after: _Test | None) -> bool:
    """Tell whether a test of the same title has its place: it has checks to compare, or is the same."""
    return after is not None and (bool(before.checks) or before.words == after.words)


def _compare(
    path: str,
    new_path: str,
    removed: tuple[str, ...],
    successors: tuple[str, ...],
    before: Mapping[str, _Test],
    after: Mapping[str, _Test],
) -> RenamedTests:
    lost = [check for name in removed for check in before[name].checks]
    gained = [check for name in successors for check in after[name].checks]
    findings = tuple(what for what in compare_checks(lost, gained) if "loosely" in what)
    return RenamedTests(path, new_path, removed, successors, len(lost), len(gained), findings)


def _is_alike_test(before: Mapping[str, _Test], name: str, after: Mapping[str, _Test], other: str) -> bool:
    """Tell whether two tests are alike, whatever their own names are."""
    old_words = [word for word in before[name].words if word != f"{NAME}{name}"]
    return are_alike(old_words, [word for word in after[other].words if word != f"{NAME}{other}"])


def _pair_files(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each test file with the one that it is after the change: itself, or where most tests moved to."""
    yield from ((path, path) for path in sorted(old.keys() & new.keys()))
    added = {path: _tests(path, new[path]) for path in new.keys() - old.keys()}
    for path in sorted(old.keys() - new.keys()):
        tests = _tests(path, old[path])
        common = {other: _count_common(tests, added[other]) for other in sorted(added)}
        target = max(common, key=lambda other: common[other], default="")
        if target and 2 * common[target] >= len(tests) > 0:
            yield path, target


def _count_common(before: Mapping[str, _Test], after: Mapping[str, _Test]) -> int:
    """Count the tests of the same name; programs, which all have a `main`, must resemble each other."""
    return sum(
        name in after and (name != PROGRAM or are_alike(test.words, after[name].words))
        for name, test in before.items()
    )


def _words_of_syntax(text: str) -> Iterator[str]:
    """Yield names, keywords and marks of source code; every literal is the same word."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        is_name = kind == "name" and match[0] not in _NEUTRAL
        yield f"{NAME}{match[0]}" if is_name else "value" if kind == "literal" else match[0]


def _tests(path: str, text: str) -> dict[str, _Test]:
    """Return the tests of a file by title or name."""
    table = SYNTAX_TABLES[extension_of(path)]
    tests: dict[str, _Test] = {}
    for node in walk_syntax(parse_syntax(extension_of(path), text.encode())):
        if name := _test_name(table, node):
            tests[name] = _read_test(table, node)
    return tests


def _test_name(table: SyntaxTable, node: SyntaxNode) -> str:
    if node.type in table.functions:
        name = function_name(node)
        is_test = table.test_name.fullmatch(name) is not None or any(
            _TEST_MARK.search(mark) for mark in _marks(table, node)
        )
        return name if is_test else ""
    if _TITLED.fullmatch(called_name(table, node)):
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[:1] if arguments is not None else ()
        title = (
            first[0].named_children[0] if first and first[0].type == "argument" else next(iter(first), None)
        )
        return literal_value(title) if title is not None and title.type in table.strings else ""
    return ""


def _marks(table: SyntaxTable, node: SyntaxNode) -> list[str]:
    """Return the annotations or attributes of a function."""
    inner = [mark for child in node.children if child.type == "modifiers" for mark in child.children]
    inner += [child for child in node.children if child.type in table.marks]
    siblings = list(node.parent.named_children) if node.parent is not None and table.marks else []
    before = [sibling for sibling in siblings if sibling.end_byte <= node.start_byte]
    while before and before[-1].type in (*table.marks, "line_comment", "block_comment"):
        inner.append(before.pop())
    return [node_text(mark) for mark in inner if mark.type in table.marks]


def _read_test(table: SyntaxTable, node: SyntaxNode) -> _Test:
    checks: list[Check] = []
    marks = [*_marks(table, node)]
    pending = [node]
    while pending:
        part = pending.pop()
        if part is not node and _test_name(table, part):
            continue
        pending += reversed(part.children)
        if not (name := called_name(table, part)):
            continue
        marks.append(name)
        if _TITLED.fullmatch(name) and (arguments := part.child_by_field_name("arguments")) is not None:
            options = [node_text(option) for option in arguments.children if option.type in _OPTIONS]
            marks += [
                _FOCUS_MARK if "focus" in match.groups() else f"it.{match[1] or 'skip'}"
                for text in options
                for match in _OPTION.finditer(text)
            ]
        if _CHECK.fullmatch(name) and (part.parent is None or part.parent.type not in CHAINS):
            checks.append(_read_check(table, part, name))
    return _Test(
        checks=checks,
        skips=sum(_SKIPPED.search(mark) is not None for mark in marks),
        focuses=sum(_FOCUSED.search(mark) is not None for mark in marks),
        words=tuple(_words_of_syntax(node_text(node))),
    )


def _read_check(table: SyntaxTable, call: SyntaxNode, name: str) -> Check:
    """Return an assertion with its strength; a report of a failure counts with the condition around it."""
    text, method = node_text(call), re.split(r"[.!]", name.rstrip("!"))[-1]
    if method in _MATCHING and (arguments := call.child_by_field_name("arguments")) is not None:
        name = method = f"{method} {node_text(arguments).strip('( ')}"
    if method in ("Errorf", "Error", "Fatalf", "Fatal", "Fail", "FailNow") and "." in name:
        around = call.parent
        while around is not None and around.type not in (*table.branches, *table.functions):
            around = around.parent
        if around is not None and around.type in table.branches:
            text = node_text(around).partition("{")[0]
    if _NOTHING.search(text) and not _STRONG.search(method):
        return Check(text, 0)
    if _WEAK.search(name) or _PRESENCE.search(text):
        return Check(text, 2)
    return Check(text, 4 if _STRONG.search(method) or _COMPARISON.search(text) else 3)
