"""Signs of a change overfitted to its tests: special-cased inputs and hidden errors, from the sources."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from coder.verify.review.branch_literals import (
    COMMON_LITERALS,
    SHORTEST,
    contains_known,
    is_distinctive,
    is_mostly,
    is_named,
    iterate_literals,
    literals_of_all,
    literals_of_branch,
    pattern_values,
    tested_expressions,
)
from coder.verify.review.tampering import Function, catches_all, dotted_name, is_silent, parse_or_empty

TEST_ENVIRONMENT_VARIABLES = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER")
EXAMPLE = re.compile(r"[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\n]*\]|\{[^\n]*\}")
"""A call with its arguments, or a collection, as an example in an issue shows it."""
DATA_INPUTS = 2
"""This many inputs of the tests in one changed data file are no coincidence."""
CLUSTER = 3
"""This many literals of the tests in one new condition, table or call at import are no coincidence."""
HASHES = ("crc32", "adler32", "hash", "md5", "sha1", "sha256", "sha512", "blake2b", "hexdigest", "digest")
BUILT_IN = ("float", "int", "str", "list", "tuple", "dict", "bytes", "set", "complex")


def overfitting_signs(
    old: Mapping[str, str], new: Mapping[str, str], tests: Collection[str], *, issue: str = ""
) -> list[str]:
    """Return signs of overfitting in the changed sources (text by path), half a sentence each.

    `tests` are source texts. A literal that the issue names in prose may be used; literals of its examples
    count as those of the tests.
    """
    issue = EXAMPLE.sub(" ", issue)
    literals = {value for text in tests for value in iterate_literals(parse_or_empty(text))} - COMMON_LITERALS
    known = {value for value in literals if is_distinctive(value[1]) and str(value[1]) not in issue}
    known |= {
        (int, len(value)) for _, value in known if isinstance(value, str | bytes) and len(value) > SHORTEST
    }
    lengths = {
        length
        for text in tests
        for length in _lengths(parse_or_empty(text))
        if length >= CLUSTER and str(length) not in issue
    }
    findings: list[str] = []
    for path, text in new.items():
        before, after = parse_or_empty(old.get(path, "")), parse_or_empty(text)
        findings += [
            f"{path}:{line} {finding}"
            for line, finding in _file_symptoms(before, after, known, literals, issue)
        ]
        findings += [
            f"{path}:{line} {finding}" for line, finding in _choices_by_length(before, after, lengths)
        ]
    return findings


def find_test_inputs_in_data(
    old: Mapping[str, str], new: Mapping[str, str], tests: Collection[str]
) -> list[str]:
    """Return changed data files (texts by path) that newly contain test inputs, half a sentence each."""
    inputs = {value for text in tests for value in _inputs(parse_or_empty(text))}
    findings = []
    for path, text in new.items():
        inputs_in_text = [
            value
            for value in inputs
            if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) and value not in old.get(path, "")
        ]
        if len(inputs_in_text) >= DATA_INPUTS:
            findings.append(f"{path} holds the tests' own inputs")
    return findings


def _inputs(tree: ast.Module) -> Iterator[str]:
    """Yield the strings that tests pass to calls within their assertions, or list as parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) or (
            isinstance(node, ast.Call) and dotted_name(node.func).endswith("parametrize")
        ):
            calls = (
                [node]
                if isinstance(node, ast.Call)
                else [part for part in ast.walk(node) if isinstance(part, ast.Call)]
            )
            for call in calls:
                yield from (
                    str(value)
                    for _, value in iterate_literals(call)
                    if isinstance(value, str) and len(value) >= SHORTEST
                )


def _lengths(tree: ast.Module) -> Iterator[int]:
    """Yield the lengths of the collection literals in a test."""
    yield from (len(node.elts) for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple | ast.Set))


def _choices_by_length(
    before: ast.Module, after: ast.Module, lengths: Collection[int]
) -> Iterator[tuple[int, str]]:
    """Yield comparisons of a length with that of a test's literal, unless so many parts are then unpacked."""
    unpacked = {
        (ast.dump(node.value), len(target.elts))
        for node in ast.walk(after)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Tuple)
    }
    for node in _added_nodes(before, after, ast.Compare):
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[measured]),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=int() as length)],
            ):
                if length in lengths and (ast.dump(measured), length) not in unpacked:
                    yield node.lineno, "chooses by the length of the test's own input"


def _file_symptoms(
    before: ast.Module, after: ast.Module, known: Collection[object], literals: Collection[object], issue: str
) -> Iterator[tuple[int, str]]:
    yield from _swallowed_exceptions(before, after)
    single = dict(_single_cases(before, after, literals, issue))
    yield from {**dict(_literal_branches(before, after, known)), **single}.items()
    yield from _test_detection(before, after)
    yield from _hard_coded_answers(before, after, known)
    yield from _literal_clusters(before, after, literals, issue)
    yield from _indirect_choices(before, after)


def _literal_clusters(
    before: ast.Module, after: ast.Module, literals: Collection[object], issue: str
) -> Iterator[tuple[int, str]]:
    """Yield new conditions, tables and calls at import that contain several literals of the tests.

    Small literals count too, unless the issue names all of them.
    """
    old_literals = {*iterate_literals(before)}
    for node in _added_nodes(before, after, ast.If, ast.IfExp, ast.match_case, ast.Expr, ast.Assign):
        match node:
            case ast.If(test=chooser) | ast.IfExp(test=chooser):
                pass
            case ast.match_case(pattern=pattern, guard=guard):
                chooser = ast.Tuple(elts=[*filter(None, [pattern_values(pattern), guard])], ctx=ast.Load())
            case ast.Expr(value=chooser) | ast.Assign(value=chooser):
                if node not in after.body or not any(
                    isinstance(part, ast.Call) for part in ast.walk(chooser)
                ):
                    continue
            case _:
                continue
        new_literals = {
            value
            for value in iterate_literals(chooser)
            if value in literals and value not in old_literals and value[1] not in (None, True, False)
        }
        if (
            len(new_literals) >= CLUSTER
            and is_mostly(chooser, literals)
            and not all(is_named(value[1], issue) for value in new_literals)
        ):
            yield getattr(node, "lineno", 1), "is made for the test's own input and answer"


def _indirect_choices(before: ast.Module, after: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield branches on a hash or a call counter, and subclasses of built-ins that redefine equality."""
    counters = {
        target.id
        for node in after.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and dotted_name(node.value.func).rpartition(".")[2] == "count"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in _added_nodes(
        before, after, ast.Call, ast.Subscript, ast.Compare, ast.If, ast.IfExp, ast.ClassDef
    ):
        match node:
            case ast.Call(func=ast.Attribute(attr="get" | "index"), args=[*arguments]) if any(
                map(_contains_hash, arguments)
            ):
                yield node.lineno, "chooses by a hash of its input"
            case ast.Subscript(slice=index) if _contains_hash(index):
                yield node.lineno, "chooses by a hash of its input"
            case ast.Compare(left=left, comparators=others) if any(map(_contains_hash, [left, *others])):
                yield node.lineno, "chooses by a hash of its input"
            case ast.If(test=test) | ast.IfExp(test=test) if any(
                _is_counter_call(part, counters) for part in ast.walk(test)
            ):
                yield node.lineno, "chooses by how often it was called"
            case ast.ClassDef(bases=bases, body=body) if any(dotted_name(base) in BUILT_IN for base in bases):
                if any(
                    isinstance(statement, ast.FunctionDef) and statement.name == "__eq__"
                    for statement in body
                ):
                    yield node.lineno, "makes values that are equal to others than a built-in type's"


def _contains_hash(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Call) and dotted_name(part.func).rpartition(".")[2] in HASHES
        for part in ast.walk(node)
    )


def _is_counter_call(node: ast.AST, counters: Collection[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name), *_]):
            return name in counters
        case _:
            return False


def _swallowed_exceptions(before: ast.Module, after: ast.Module) -> Iterator[tuple[int, str]]:
    for node in _added_nodes(before, after, ast.ExceptHandler, ast.With):
        match node:
            case ast.ExceptHandler() if catches_all(node) and is_silent(node.body):
                yield node.lineno, "swallows every exception"
            case ast.With(items=items) if any(_suppresses_all(item.context_expr) for item in items):
                yield node.lineno, "swallows every exception"


def _added_nodes(before: ast.Module, after: ast.Module, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of these types that do not occur in the old file."""
    counts = Counter(ast.dump(node) for node in ast.walk(before) if isinstance(node, kinds))
    for node in ast.walk(after):
        if isinstance(node, kinds):
            counts[ast.dump(node)] -= 1
            if counts[ast.dump(node)] < 0:
                yield node


def _literal_branches(
    before: ast.Module, after: ast.Module, known: Collection[object]
) -> Iterator[tuple[int, str]]:
    """Yield branches on literals of the tests that are new in this file.

    A branch compares with the literal, matches it, or has it as a key of a table.
    """
    old_literals = {*iterate_literals(before)}
    for node in ast.walk(after):
        for part in tested_expressions(node) if is_mostly(node, known) else ():
            if any(value in known and value not in old_literals for value in iterate_literals(part)):
                yield part.lineno, "chooses by a literal of the test that the issue does not name"
                break


def _single_cases(
    before: ast.Module, after: ast.Module, literals: Collection[object], issue: str
) -> Iterator[tuple[int, str]]:
    """Yield branches that answer one literal of the tests with another one of theirs.

    Small literals count too, unless the issue or the old file contains both.
    """
    old_literals = {*iterate_literals(before)}
    for node in _added_nodes(before, after, ast.If, ast.IfExp, ast.match_case, ast.Dict):
        tested, answers = literals_of_branch(node)
        parts = [
            [value for value in literals_of_all(side) if value in literals] for side in (tested, answers)
        ]
        is_new = any(
            value not in old_literals and not is_named(value[1], issue) for part in parts for value in part
        )
        if all(parts) and is_new and is_mostly(node, literals):
            yield (
                getattr(node, "lineno", 0) or tested[0].lineno,
                "is made for the test's own input and answer",
            )


def _suppresses_all(manager: ast.expr) -> bool:
    return (
        isinstance(manager, ast.Call)
        and dotted_name(manager.func).endswith("suppress")
        and any(dotted_name(argument) in ("Exception", "BaseException") for argument in manager.args)
    )


def _test_detection(before: ast.Module, after: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield code that detects whether it is being tested."""
    before_dumps = {ast.dump(node) for node in ast.walk(before) if _detects_tests(node)}
    for node in ast.walk(after):
        if _detects_tests(node) and ast.dump(node) not in before_dumps:
            yield getattr(node, "lineno", 0), "asks whether it is being tested"


def _detects_tests(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str() as text):
            return text in TEST_ENVIRONMENT_VARIABLES
        case ast.Compare(left=ast.Constant(value="pytest" | "unittest"), ops=[ast.In() | ast.NotIn()]):
            return True
        case _:
            return False


def _hard_coded_answers(
    before: ast.Module, after: ast.Module, known: Collection[object]
) -> Iterator[tuple[int, str]]:
    """Yield functions that computed their result before and now return only literals of the tests."""
    old = {name: function for name, function in _functions(before)}
    for name, function in _functions(after):
        old_function = old.get(name)
        if old_function is None or not function.args.args or ast.dump(old_function) == ast.dump(function):
            continue
        answers = _returned_values(function)
        are_literal = [
            all(isinstance(value, ast.Constant) for value in values)
            for values in (_returned_values(old_function), answers)
        ]
        if are_literal == [False, True] and any(contains_known(value, known) for value in answers):
            yield function.lineno, f"has {name} answer with a value of the tests"


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, parent = pending.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, Function):
                yield f"{prefix}{node.name}", node
            pending.append(
                (f"{prefix}{node.name}." if isinstance(node, Function | ast.ClassDef) else prefix, node)
            )


def _returned_values(function: Function) -> list[ast.expr]:
    return [
        node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None
    ]
