"""Sources that recognize their tests: literals of tests, branches on them, swallowed errors."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from coder.core.paths import is_test_path
from coder.files.tokenize import count_terms
from coder.index.parsers import SyntaxNode, node_text, parse_syntax, walk_syntax
from coder.verify.checks.harness import process_accesses
from coder.verify.languages import (
    SUFFIXES,
    SYNTAX_TABLES,
    SyntaxTable,
    called_name,
    consequence_of,
    extension_of,
    function_name,
    is_name,
    label_of,
    literals_in,
)
from coder.verify.test_edits import Function, catches_all, dotted_name, is_silent, parse_or_empty

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


TABLE_SHARE = 0.4
"""Share of a table's literals that come from the tests, from which on it counts as made for them."""
LARGEST_COMMON_NUMBER = 16
"""Numbers up to this occur in every program and test."""
SHORTEST = 3
COMMON_LITERALS = {(type(value), value) for value in (None, True, False, 0, 1, 0.0, 1.0, "", b"", ...)}
"""Literals on which any code may branch."""
_WORDS = re.compile(r"[A-Za-z]+(?:[-_][A-Za-z]+)*")
CONSTANT = (ast.Constant, ast.Tuple, ast.List, ast.Load, ast.UnaryOp, ast.USub)


def pattern_values(pattern: ast.pattern) -> ast.expr:
    """Return the literals and keys that a pattern matches, as a tuple."""
    values = [node.value for node in ast.walk(pattern) if isinstance(node, ast.MatchValue)]
    values += [key for node in ast.walk(pattern) if isinstance(node, ast.MatchMapping) for key in node.keys]
    return ast.Tuple(elts=values, ctx=ast.Load())


def tested_expressions(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            exact = all(
                isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn | ast.Is | ast.IsNot)
                for operator in ops
            )
            return [left, *others] if exact else []
        case ast.MatchValue(value=value):
            return [value]
        case ast.Dict(keys=keys):
            return [key for key in keys if key is not None]
        case ast.Call(
            func=ast.Attribute(attr="startswith" | "endswith" | "fullmatch" | "match" | "search"),
            args=[*values],
        ):
            return [value for value in values if isinstance(value, ast.Constant)]
        case _:
            return []


def is_named(value: object, issue: str) -> bool:
    """Tell whether the issue names this literal as a separate word or number; a word in any of its forms."""
    text = str(value)
    if re.search(rf"(?<!\w)(?<!\d\.){re.escape(text)}(?!\w|\.\d)", issue):
        return True
    if len(text) < SHORTEST or not _WORDS.fullmatch(text):
        return False
    terms = count_terms(text).keys()
    return len(terms) > 0 and terms <= count_terms(issue).keys()


def is_mostly(node: ast.AST, literals: Collection[object]) -> bool:
    """Tell whether many of a table's literals are those of the tests; always true for other nodes."""
    if isinstance(node, ast.If | ast.IfExp | ast.match_case | ast.Compare | ast.MatchValue):
        return True
    distinctive = {value for value in iterate_literals(node) if value not in COMMON_LITERALS}
    return sum(value in literals for value in distinctive) >= TABLE_SHARE * len(distinctive)


def literals_of_branch(node: ast.AST) -> tuple[list[ast.expr], list[ast.expr]]:
    """Return the expressions that a branch or a table tests, and the literals that it answers with."""
    match node:
        case (
            ast.If(test=test, body=[ast.Return(value=ast.expr() as value) | ast.Assign(value=value)])
            | ast.IfExp(test=test, body=value)
        ):
            tested = [part for inner in ast.walk(test) for part in tested_expressions(inner)]
        case ast.match_case(pattern=pattern, body=[ast.Return(value=ast.expr() as value)]):
            tested = [inner.value for inner in ast.walk(pattern) if isinstance(inner, ast.MatchValue)]
        case ast.Dict(keys=keys, values=values):
            pairs = [
                (key, value)
                for key, value in zip(keys, values, strict=True)
                if key is not None and isinstance(value, ast.Constant)
            ]
            has_distinctive_key = any(
                is_distinctive(value) for key, _ in pairs for _, value in iterate_literals(key)
            )
            return (
                ([key for key, _ in pairs], [value for _, value in pairs])
                if has_distinctive_key
                else ([], [])
            )
        case _:
            return [], []
    return tested, [value] if all(isinstance(part, CONSTANT) for part in ast.walk(value)) else []


def literals_of_all(nodes: list[ast.expr]) -> list[tuple[type, Any]]:
    return [literal for node in nodes for literal in iterate_literals(node)]


def contains_known(value: ast.expr, known: Collection[object]) -> bool:
    """Tell whether a value contains a distinctive literal of the tests."""
    return any(constant in known for constant in _distinctive_literals(value))


def _distinctive_literals(tree: ast.AST) -> Iterator[tuple[type, Any]]:
    return (literal for literal in iterate_literals(tree) if is_distinctive(literal[1]))


def iterate_literals(tree: ast.AST) -> Iterator[tuple[type, Any]]:
    string_statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in string_statements:
            yield (type(node.value), node.value)


def is_distinctive(value: object) -> bool:
    match value:
        case bool() | None:
            return False
        case str() | bytes():
            return len(value) >= SHORTEST
        case int():
            return abs(value) > LARGEST_COMMON_NUMBER
        case float() | complex():
            return abs(value) > 1 or value not in (0.0, 0.5, 1.0)
        case _:
            return False


_BROAD = re.compile(r"\b(?:Exception|Throwable|RuntimeException|StandardError|Error)\b")
_SWALLOWING = re.compile(
    r"(?P<failing>.+?)(?:\.await)?\.unwrap_or(?:_default\(\)|(?:_else)?\(.*\))", re.DOTALL
)
_GLOBAL_NUMBER = re.compile(
    r"^(?:export\s+)?(?:let|var)\s+(?P<script>\w+)(?:\s*:\s*\w+|[ \t]+\w+)?\s*(?:=\s*\d+|;|$)"
    r"|\bstatic\s+(?:\w+\s+)*\$?(?P<static>\w+)\s*(?::\s*[\w:]+\s*)?(?:=\s*(?:\d+|\w+::new\(\d+\))|;)"
    r"|(?:@@|\$)(?P<ruby>\w+)\s*=\s*\d+\s*$",
    re.MULTILINE,
)
"""A variable with a number that outlives calls: of a module, a static or a class variable."""
_EMPTY_CATCH = re.compile(
    r".*\.catch\((?:\(\w*\)|\w+)=>(?:\{\}|null|undefined|\[\]|\"\"|''|false|0)?\)", re.DOTALL
)


def symptom_signs(
    old: Mapping[str, str], new: Mapping[str, str], tests: Mapping[str, str], *, issue: str = ""
) -> list[str]:
    """Return signs of a treated symptom in the changed sources, half a sentence each; texts are by path.

    A literal that the issue names in prose may be used; literals of its examples count as those of the tests.
    """
    prose = EXAMPLE.sub(" ", issue)
    literals = read_test_literals(tests, prose)
    findings = []
    known = "\n".join((issue, *old.values()))
    for path, text in new.items():
        table = _table(path)
        before, after = _root(path, old.get(path, "")), _root(path, text)
        signs = {
            **dict(special_cases(table, before, after, literals)),
            **dict(_swallowed_errors(table, before, after)),
            **dict(constant_functions(table, before, after, literals.inputs)),
        }
        findings += [f"{path}:{line} {sign}" for line, sign in sorted(signs.items())]
        new_literals = Counter(literals_in(table, after)) - Counter(literals_in(table, before))
        findings += [
            f"{path} names the test file {value}, by which it can tell whether it is being tested"
            for value in new_literals
            if value.endswith(SUFFIXES) and is_test_path(value) and not is_named(value, prose)
        ]
        findings += process_accesses(path, old.get(path, ""), text, known=known)
        findings += [
            f"{path} chooses by how often it was called ({name})"
            for name in _call_counters(text)
            if not re.search(rf"\b{name}\b", old.get(path, ""))
        ]
    return findings


def _table(path: str) -> SyntaxTable:
    return SYNTAX_TABLES[extension_of(path)]


def _root(path: str, text: str) -> SyntaxNode:
    return parse_syntax(extension_of(path), text.encode())


def _call_counters(text: str) -> Iterator[str]:
    """Yield the variables of a file, not of a function, that it counts up and compares."""
    for name in dict.fromkeys(match[match.lastgroup or 0] for match in _GLOBAL_NUMBER.finditer(text)):
        counting = rf"\b{name}\s*(?:\+\+|\+= ?1\b|\.fetch_add\b|\.Add\()|\+\+\s*[$@]*{name}\b"
        comparing = (
            rf"\b{name}\b(?:\+\+|\.\w+\([^)]*\))?\s*(?:[<>]=?|[=!]==?|%)\s|[<>%]=?\s*[$@]*(?:\+\+)?{name}\b"
        )
        if re.search(counting, text) and re.search(comparing, text):
            yield name


def _swallowed_errors(table: SyntaxTable, before: SyntaxNode, after: SyntaxNode) -> Iterator[tuple[int, str]]:
    """Yield handlers that ignore every exception, and calls whose errors were not dropped before."""
    old = without_blanks(before)
    kinds = table.handlers | table.assignments | table.branches | frozenset(table.calls)
    for node in new_nodes(before, after, lambda node: node.type in kinds):
        if (
            node.type in table.handlers
            and _is_broad(node)
            and _is_silent(table, node.child_by_field_name("handler") or node.child_by_field_name("body"))
        ):
            yield line_of(node), "swallows every exception"
        elif _drops_result(table, node, old) or _ignores_error(table, node):
            yield line_of(node), "drops an error"
        elif node.type in table.calls:
            text = without_blanks(node)
            swallowing = _SWALLOWING.fullmatch(text)
            is_new = (
                swallowing
                and swallowing["failing"] in old
                and f"{swallowing['failing']}.unwrap_or" not in old
            )
            if is_new or _EMPTY_CATCH.fullmatch(text):
                yield line_of(node), "swallows an error"


def _is_broad(handler: SyntaxNode) -> bool:
    """Tell whether a handler names no type of exception, or one that contains all."""
    head = node_text(handler).partition("{")[0]
    if handler.type.startswith("rescue"):
        types = handler.child_by_field_name("exceptions")
        return types is None or _BROAD.search(node_text(types)) is not None
    return re.search(r"\w\s+\$?\w+\s*\)", head) is None or _BROAD.search(head) is not None


def _is_silent(table: SyntaxTable, body: SyntaxNode | None) -> bool:
    """Tell whether a block, or a missing one, neither raises nor calls nor uses anything."""
    return body is None or not any(
        part.type in table.calls or is_name(part) or part.type.startswith("throw")
        for part in walk_syntax(body)
    )


def _drops_result(table: SyntaxTable, node: SyntaxNode, old: str) -> bool:
    """Tell whether an assignment drops the last result of a call that the old file has as well."""
    if node.type not in table.assignments:
        return False
    left = node.child_by_field_name("left") or node.child_by_field_name("pattern")
    right = node.child_by_field_name("right") or node.child_by_field_name("value")
    if left is None or right is None or not any(part.type in table.calls for part in walk_syntax(right)):
        return False
    return without_blanks(left).split(",")[-1] == "_" and without_blanks(right) in old


def _ignores_error(table: SyntaxTable, branch: SyntaxNode) -> bool:
    if branch.type not in table.branches:
        return False
    condition, body = branch.child_by_field_name("condition"), consequence_of(branch)
    is_empty = body is not None and not any("comment" not in child.type for child in body.named_children)
    return re.search(r"\berr\b", node_text(condition)) is not None and is_empty


CASE = "is made for the test's own input and answer"
CHOICE = "chooses by a literal of the test that the issue does not name"
REFUSAL = "refuses the test's own input, which the issue does not name"
TRIVIAL = frozenset({"", "0", "1", "0.0", "1.0", "\\0", "\\n"})
"""Values for which code may always have a case of its own."""
LONGEST_PART = 0.75
"""Share of an input from which on a part of it stands for the whole."""
SHORTEST_PART = 4
_LISTS = frozenset(
    {
        *("array", "array_expression", "array_creation_expression", "array_initializer", "literal_value"),
        *("initializer_list", "arguments", "argument_list", "tuple_expression"),
    }
)
_LOOKUPS = frozenset({"subscript_expression", "element_reference", "index_expression"})
_BINARY = frozenset({"binary_expression", "binary"})
_EQUALITY = frozenset({"==", "===", "!=", "!=="})
_EQUALITY_CALL = re.compile(
    r"(?:^|\.)(?:equals(?:IgnoreCase)?|str(?:n|case)?cmp|includes|contains|has|in_array|include\?|eql?\?|start_with\?"
    r"|end_with\?|startsWith|endsWith|starts_with|ends_with|str_(?:starts_with|ends_with|contains)|HasPrefix|HasSuffix"
    r"|EqualFold|matches)$"
)
_REFUSAL = re.compile(
    r"\W*(?:then\b)?\W*(?:throw\b|raise\b|panic!?\s*\(|return\s+(?:Err\(|.*\b(?:fmt\.Errorf|errors\.New)\())",
    re.DOTALL,
)


class KnownLiterals(NamedTuple):
    """Literals in the files of tests."""

    all: frozenset[str]
    inputs: frozenset[str]
    """Those that the issue does not name in prose."""
    lists: frozenset[str]
    """Letters and digits of lists of literals, as any serialization of the list has them."""


def read_test_literals(tests: Mapping[str, str], prose: str) -> KnownLiterals:
    """Return the literals of test files (text by path)."""
    values: set[str] = set()
    lists: set[str] = set()
    for path, text in tests.items():
        table, root = SYNTAX_TABLES[extension_of(path)], parse_syntax(extension_of(path), text.encode())
        values |= {value for value in literals_in(table, root) if value}
        for node in walk_syntax(root):
            parts = [*literals_in(table, node)] if node.type in _LISTS else []
            if len(parts) > 1 and not any(is_name(part) for part in walk_syntax(node)):
                lists.add(_letters("".join(parts)))
    inputs = {value for value in values - TRIVIAL if not is_named(value, prose)}
    return KnownLiterals(frozenset(values), frozenset(inputs), frozenset(lists - {_letters(prose)}))


def special_cases(
    table: SyntaxTable, before: SyntaxNode, after: SyntaxNode, tests: KnownLiterals
) -> Iterator[tuple[int, str]]:
    """Yield lines with conditions, cases and tables that are new in a file and made for inputs of tests.

    What is said last of a line counts.
    """
    known = frozenset(literals_in(table, before))

    def is_chosen(value: str) -> bool:
        return value not in known and (value in tests.inputs or _is_serialized(value, tests))

    comparisons = _BINARY | frozenset(table.calls)
    for node in new_nodes(before, after, lambda node: node.type in comparisons):
        values = [*_operands(table, node)]
        if any(is_chosen(value) and is_telling(value) for value in values) or any(
            value not in known and _is_most_of_input(value, tests.inputs) for value in values
        ):
            yield line_of(node), CHOICE
    for node in new_nodes(before, after, lambda node: node.type in table.branches):
        compared = [*_equality_literals(table, node.child_by_field_name("condition"))]
        if any(map(is_chosen, compared)) and _REFUSAL.match(node_text(consequence_of(node))):
            yield line_of(node), REFUSAL
    kinds = table.branches | table.cases | table.tables
    for node in new_nodes(before, after, lambda node: node.type in kinds):
        tested, answers = _tested_and_answered(table, node)
        chosen = [value for value in tested if is_chosen(value)]
        answered = [value for value in answers if value in tests.all]
        if node.type in table.tables and len(chosen) < TABLE_SHARE * len(tested):
            continue
        is_new = chosen or any(value in tests.inputs and value not in known for value in answered)
        if answered and is_new and any(value in tests.inputs or is_chosen(value) for value in tested):
            yield line_of(node), CASE
        elif any(is_telling(value) or _is_serialized(value, tests) for value in chosen):
            yield line_of(node), CHOICE


def constant_functions(
    table: SyntaxTable, before: SyntaxNode, after: SyntaxNode, literals: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Yield functions that computed their result before and now return only literals of the tests."""
    old = {function_name(node): node for node in walk_syntax(before) if node.type in table.functions}
    for node in new_nodes(before, after, lambda node: node.type in table.functions):
        name, earlier = function_name(node), old.get(function_name(node))
        body = node.child_by_field_name("body")
        answers = _sole_literals(table, body)
        was_computed = earlier is not None and not _sole_literals(table, earlier.child_by_field_name("body"))
        if name and was_computed and any(value in literals and is_telling(value) for value in answers):
            yield line_of(node), f"has {name} answer with a value of the tests"


def new_nodes(
    before: SyntaxNode, after: SyntaxNode, is_wanted: Callable[[SyntaxNode], bool]
) -> Iterator[SyntaxNode]:
    """Yield the nodes with children whose text does not occur in the old file as such a node."""
    counts = Counter(
        without_blanks(node) for node in walk_syntax(before) if node.children and is_wanted(node)
    )
    for node in walk_syntax(after):
        if node.children and is_wanted(node):
            counts[without_blanks(node)] -= 1
            if counts[without_blanks(node)] < 0:
                yield node


def without_blanks(node: SyntaxNode) -> str:
    """Return the text of a node without blanks."""
    return "".join(node_text(node).split())


def line_of(node: SyntaxNode) -> int:
    return node.start_point[0] + 1


def is_telling(value: str) -> bool:
    """Tell whether a literal is long or large enough that no other code has it by chance."""
    if re.fullmatch(r"\d+(?:\.\d+)?\w*", value):
        return float(re.match(r"[\d.]+", value)[0]) > LARGEST_COMMON_NUMBER  # type: ignore[index]
    return len(value) >= SHORTEST


def _is_serialized(value: str, tests: KnownLiterals) -> bool:
    letters = _letters(value)
    return len(letters) >= 2 and letters != value and letters in tests.lists


def _letters(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", text)


def _is_most_of_input(value: str, inputs: Iterable[str]) -> bool:
    """Tell whether a literal is a large part of one input of the tests, and occurs in no other."""
    if len(value) < SHORTEST_PART:
        return False
    wholes = [known for known in inputs if value in known]
    return len(wholes) == 1 and value != wholes[0] and len(value) >= LONGEST_PART * len(wholes[0])


def _equality_literals(table: SyntaxTable, condition: SyntaxNode | None) -> Iterator[str]:
    """Yield the literals that a condition compares for equality."""
    for node in walk_syntax(condition) if condition is not None else ():
        yield from _operands(table, node)


def _operands(table: SyntaxTable, node: SyntaxNode) -> Iterator[str]:
    """Yield the literals that a node itself compares for equality."""
    if node.type in _BINARY and node_text(node.child_by_field_name("operator")) in _EQUALITY:
        sides = [node.child_by_field_name("left"), node.child_by_field_name("right")]
    elif _EQUALITY_CALL.search(called_name(table, node)):
        sides = [node.child_by_field_name("arguments")]
    else:
        return
    for side in sides:
        if side is not None and not any(is_name(part) for part in walk_syntax(side)):
            yield from literals_in(table, side)
        elif side is not None and side.type.endswith(("arguments", "argument_list")):
            yield from (
                value
                for argument in side.named_children
                if not any(is_name(part) for part in walk_syntax(argument))
                for value in literals_in(table, argument)
            )


def _tested_and_answered(table: SyntaxTable, node: SyntaxNode) -> tuple[list[str], list[str]]:
    """Return the literals that a branch, case or table compares with, and those it answers with alone."""
    if node.type in table.branches:
        answer = consequence_of(node)
        return [*_condition_literals(table, node.child_by_field_name("condition"))], _sole_literals(
            table, answer
        )
    if node.type in table.tables:
        entries = [
            [*literals_in(table, entry)] for entry in node.named_children if entry.type != "spread_element"
        ]
        pairs = [entry for entry in entries if len(entry) == 2]
        return [key for key, _ in pairs], [value for _, value in pairs]
    label = label_of(node)
    body = node if label is not node else node.parent
    after = [
        child
        for child in (body.named_children if body is not None else ())
        if child.start_byte >= label.end_byte
    ]
    return [*literals_in(table, label)], [
        value for child in after[:1] for value in _sole_literals(table, child)
    ]


def _condition_literals(table: SyntaxTable, condition: SyntaxNode | None) -> Iterator[str]:
    """Yield the literals of a condition, without keys by which it looks something up."""
    for part in walk_syntax(condition) if condition is not None else ():
        is_key = part.type in table.strings and part.parent is not None and part.parent.type in _LOOKUPS
        if not part.named_children or part.type in table.strings:
            yield from literals_in(table, part) if not is_key else ()


def _sole_literals(table: SyntaxTable, node: SyntaxNode | None) -> list[str]:
    """Return the literals of a node that has nothing else but the words that return them."""
    if node is None:
        return []
    is_plain = not any(is_name(part) or part.type in table.calls for part in walk_syntax(node))
    return [*literals_in(table, node)] if is_plain else []
