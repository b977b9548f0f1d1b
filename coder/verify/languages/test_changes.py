"""Existing tests that a change removes, skips or weakens, in languages with a syntax table."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from coder.index.parsers import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.verify.languages.tables import (
    CHAINS,
    SYNTAX_TABLES,
    SyntaxTable,
    called_name,
    extension_of,
    function_name,
    literal_value,
)
from coder.verify.review.tampering import Check, compare_checks
from coder.verify.test_files.locating import has_title
from coder.verify.test_files.successors import NAME, are_alike, group_successions

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
        *("async", "await", "const", "def", "do", "end", "false", "final", "fn", "for", "func", "function"),
        *(
            "if",
            "in",
            "it",
            "let",
            "nil",
            "null",
            "public",
            "return",
            "static",
            "test",
            "true",
            "var",
            "void",
        ),
        *("describe", "specify", "expect", "assert", "assert_eq", "to", "eq", "t", "testing", "T", "Test"),
        *("toBe", "toEqual", "toThrow", "equal", "strictEqual", "deepEqual", "deepStrictEqual", "rejects"),
        *("assertEquals", "assertTrue", "assertThat", "assertSame", "isEqualTo", "this", "Errorf", "Fatalf"),
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
            else [other for other in edited if _is_alike(before, name, after, other)]
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


def _is_alike(before: Mapping[str, _Test], name: str, after: Mapping[str, _Test], other: str) -> bool:
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


def _syntax_words(text: str) -> Iterator[str]:
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
        words=tuple(_syntax_words(node_text(node))),
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
