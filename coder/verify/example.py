"""The issue's own example, a call with its wrong and its right result, run on the untouched code."""

import ast
import builtins
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from coder.core.paths import is_test_file, is_test_path
from coder.core.ports import ReproducedExample
from coder.core.values import Value
from coder.files.regular_files import read_regular_text
from coder.python.source import find_nodes, parse_or_empty
from coder.verify.issue import CodeAnswer, IssueScripts, calls_in_prose, code_in_issue, read_answers
from coder.verify.layout import module_name, source_roots
from coder.verify.select import project_files

_ADVERB = r"(?:(?:now|currently|always|still|wrongly|incorrectly|just|only)\s+)*"
_GIVES = re.compile(
    rf"[`)]?\s*{_ADVERB}(?:returns?|gives?|yields?|is|evaluates? to|prints?|outputs?|produces?|->|=>|→|==)\s+"
    rf"{_ADVERB}"
)
_RAISES = re.compile(
    rf"[`)]?\s*{_ADVERB}(?:raises?|throws?|fails with|crashes with|dies with|gives)\s+(?:an?\s+)?`?"
    r"(?P<type>\w*(?:Error|Exception))\b(?::[^\n`]{0,80})?`?"
)
_INSTEAD = re.compile(
    r"`?\s*[,;(]?\s*(?:instead of|rather than|but (?:should (?:be|return|give)|(?:I )?expect(?:ed)?)"
    r"|and not|should be|where|expected(?: is| was)?:?|not)\s+"
    r"(?P<raising>raising\s+)?(?:returning\s+|giving\s+)?"
)
_EXPECTED = re.compile(r"(?i)(?:expected|should (?:be|give|return|print))(?: output| result)?:?\s+`?")
_NAME = re.compile(r"`?(?P<type>\w*(?:Error|Exception))\b")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])", re.IGNORECASE)
_UNREPEATABLE = re.compile(r"0x[0-9a-f]{4,}|\d{4}-\d\d-\d\d \d\d:")
"""Addresses and times, which another run gives otherwise."""
LONGEST_VALUE = 200


class ClaimedExample(Value):
    """A call of an issue with what it gives and what it should give."""

    call: str
    wrong: str = ""
    """As the issue writes it; `raises X` for an exception, empty if only the right result is named."""
    right: str = ""
    """As the issue writes it; `raises X` for an exception, empty if only an exception is unwanted."""


def claimed_examples(issue: str) -> Iterator[ClaimedExample]:
    """Yield the examples that an issue writes: `X returns A instead of B`, sessions, assertions."""
    for code in code_in_issue(issue):
        yield from _from_assertions(code)
        yield from _from_session(code, issue)
    for start, end in calls_in_prose(issue):
        call, rest = issue[start:end], issue[end : end + 3 * LONGEST_VALUE]
        if raised := _RAISES.match(rest):
            instead = _INSTEAD.match(rest, raised.end())
            right = _read_result(rest, instead.end(), bool(instead["raising"])) if instead else ""
            yield ClaimedExample(call=call, wrong=f"raises {raised['type']}", right=right)
        elif gives := _GIVES.match(rest):
            wrong, position = _read_value(rest, gives.end())
            instead = _INSTEAD.match(rest, position) if wrong else None
            if instead and (right := _read_result(rest, instead.end(), bool(instead["raising"]))):
                yield ClaimedExample(call=call, wrong=wrong, right=right)


def _from_assertions(code: str) -> Iterator[ClaimedExample]:
    for statement in parse_or_empty(code).body:
        match statement:
            case ast.Assert(test=ast.Compare(left=ast.Call() as call, ops=[ast.Eq()], comparators=[right])):
                yield ClaimedExample(call=ast.unparse(call), right=ast.unparse(right))


def _from_session(code: str, issue: str) -> Iterator[ClaimedExample]:
    """Yield the last call of a session, if the text behind it says what was expected."""
    lines = [line.strip() for line in code.strip().splitlines()]
    places = [index for index, line in enumerate(lines) if line.startswith(">>> ")]
    if not places or places[-1] + 1 >= len(lines):
        return
    call, shown = lines[places[-1]][4:], lines[places[-1] + 1 :]
    is_traceback = shown[0].startswith("Traceback")
    raised = _NAME.match(shown[-1]) if is_traceback else None
    wrong = f"raises {raised['type']}" if raised else shown[0]
    behind = issue.rpartition(lines[-1])[2][:LONGEST_VALUE]
    expected = _EXPECTED.search(behind)
    right = _read_value(behind, expected.end())[0] if expected else ""
    if raised or right:
        yield ClaimedExample(call=call, wrong=wrong, right=right)


def _read_result(text: str, position: int, is_raised: bool) -> str:
    if is_raised:
        found = _NAME.match(text, position)
        return f"raises {found['type']}" if found else ""
    return _read_value(text, position)[0]


def _read_value(text: str, position: int) -> tuple[str, int]:
    """Return a value that a text writes at a position, and where it ends; empty if there is none."""
    rest = text[position : position + LONGEST_VALUE]
    if rest.startswith("`"):
        end = rest.find("`", 1)
        return (rest[1:end], position + end + 1) if end > 1 else ("", position)
    if number := _NUMBER.match(rest):
        return number[0], position + number.end()
    if rest[:1] in ("'", '"', "[", "(", "{") or rest[:2] in ("b'", 'b"'):
        for end in range(2, len(rest) + 1):
            if rest[end - 1] in "'\"])}" and _literal(rest[:end]) is not None:
                return rest[:end], position + end
        return "", position
    word = re.match(r"[^\s,;`)]+", rest)
    text_of_word = word[0].rstrip(".") if word else ""
    return text_of_word, position + len(text_of_word)


def _literal(text: str) -> ast.expr | None:
    """Return the expression if a text is a literal."""
    try:
        ast.literal_eval(text)
        return ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


class ExampleReproducer:
    """Runs the examples of issues on the untouched code, in a read-only sandbox without a network."""

    def __init__(self, scripts: IssueScripts) -> None:
        self._scripts = scripts

    def reproduce(self, tree: Path, issue: str) -> ReproducedExample | str:
        """Return the first example that the code of a tree reproduces twice; else why there is none."""
        reason = "the issue quotes no call with its wrong and its right result"
        for example in claimed_examples(issue):
            imports = _find_imports(example.call, tree)
            if isinstance(imports, str):
                reason = imports
                continue
            outcome = self._check(tree, example, imports)
            if isinstance(outcome, ReproducedExample):
                return outcome
            reason = outcome
        return reason

    def _check(self, tree: Path, example: ClaimedExample, imports: list[str]) -> ReproducedExample | str:
        request = json.dumps({"imports": imports, "modules": [], "pieces": [example.call], "changed": []})
        first, second = (
            next(iter(read_answers(self._scripts.run_request(request, tree))), None) for _ in "12"
        )
        if first is None or second is None:
            return f"`{example.call}` could not be run"
        shown = first.text.partition(":")[0] if first.error else first.value
        if first.text != second.text or _UNREPEATABLE.search(first.value):
            return f"`{example.call}` gives something else each time"
        if example.wrong and not _is_written(example.wrong, first):
            return f"on the untouched code `{example.call}` gives {shown}"
        right = _in_type_of(example.right, first)
        if right is None:
            return f"what `{example.call}` should give is not a value that can be compared"
        if right == shown:
            return f"on the untouched code `{example.call}` gives {shown} already"
        return _write_test(tree, example.call, shown, right, imports)


def _is_written(written: str, answer: CodeAnswer) -> bool:
    """Tell whether a result is what the issue writes, where quotes and `.0` may be missing."""
    if answer.error:
        return written in (f"raises {answer.error.type}", answer.error.type)
    value = answer.value
    expected, actual = _literal(written), _literal(value)
    if expected is not None and actual is not None and ast.dump(expected) == ast.dump(actual):
        return True
    return written in (value, value.strip("'\""), value.removesuffix(".0"))


def _in_type_of(written: str, answer: CodeAnswer) -> str | None:
    """Return the right result as an expression of the type that the wrong one has; None if it is prose."""
    if not written or written.startswith("raises "):
        return written if written or answer.error else None
    literal = _literal(written)
    is_text = answer.error is None and answer.value[:1] in ("'", '"')
    if is_text and not (
        literal is not None and isinstance(literal, ast.Constant) and isinstance(literal.value, str)
    ):
        return repr(written)
    return ast.unparse(literal) if literal is not None else None


def _find_imports(call: str, tree: Path) -> list[str] | str:
    """Return statements that import what a call names, or why a name has not one meaning."""
    module = parse_or_empty(call)
    bound = {node.arg for node in find_nodes(module, ast.arg)}
    bound |= {node.id for node in find_nodes(module, ast.Name) if isinstance(node.ctx, ast.Store)}
    names = dict.fromkeys(node.id for node in find_nodes(module, ast.Name) if node.id not in bound)
    statements = []
    for name in names:
        if hasattr(builtins, name):
            continue
        roots = source_roots(tree) or (tree,)
        if any((root / name).is_dir() or (root / f"{name}.py").is_file() for root in roots):
            statements.append(f"import {name}")
            continue
        pattern = re.compile(rf"^(?:async )?(?:def|class) {name}\b|^{name}\s*=", re.MULTILINE)
        homes = [
            path
            for path in sorted(project_files(tree))
            if path.endswith(".py")
            and not is_test_path(path)
            and pattern.search(read_regular_text(tree / path))
        ]
        modules = [found for path in homes if (found := module_name(path, tree))]
        if len(modules) > 1:
            return f"`{name}` is defined in {' and in '.join(homes[:2])}"
        if modules:
            statements.append(f"from {modules[0]} import {name}")
        elif name in sys.stdlib_module_names:
            statements.append(f"import {name}")
        else:
            return f"`{name}` is not defined at the top level of a module here"
    return statements


def _write_test(tree: Path, call: str, wrong: str, right: str, imports: list[str]) -> ReproducedExample:
    """Return the example as a test at the end of the nearest test file, in its style."""
    node = parse_or_empty(call).body[0]
    callees = [found.func for found in find_nodes(node, ast.Call)]
    names = [
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "call") for part in callees
    ]
    function = next((name for name in names if not hasattr(builtins, name)), names[0])
    path = _nearest_test_file(tree, function, imports)
    before = read_regular_text(tree / path) if (tree / path).is_file() else ""
    existing = {found.name for found in find_nodes(parse_or_empty(before), ast.FunctionDef)}
    name = f"test_{function.strip('_')}_example"
    while name in existing:
        name += "_again"
    known = {*_imports_of(before)}
    lines = [statement for statement in imports if statement not in known]
    is_class = "TestCase)" in before and not re.search(r"^def test_", before, re.MULTILINE)
    is_float = isinstance(_literal(right), ast.Constant) and isinstance(ast.literal_eval(right), float)
    if right.startswith("raises "):
        error = right.removeprefix("raises ")
        raising = "self.assertRaises" if is_class else "pytest.raises"
        body = [f"with {raising}({error}):", f"    {call}"]
    elif not right:
        body = [call]
    elif is_class:
        check = "assertAlmostEqual" if is_float else "assertEqual"
        body = [f"self.{check}({call}, {right})"]
    else:
        comparison = "is" if right in ("None", "True", "False") else "=="
        body = [f"assert {call} {comparison} {f'pytest.approx({right})' if is_float else right}"]
    if not is_class and "pytest." in "".join(body) and "import pytest" not in known:
        lines.insert(0, "import pytest")
    body = [*lines, *([""] if lines else []), *body]
    if is_class:
        owner = f"{''.join(part.title() for part in function.strip('_').split('_'))}ExampleTest"
        header = [f"class {owner}(unittest.TestCase):", f"    def {name}(self):"]
        if "import unittest" not in known:
            header[0] = header[0].replace("unittest.TestCase", "TestCase")
        text = "\n".join([*header, *(f"        {line}".rstrip() for line in body)])
        test = f"{path}::{owner}::{name}"
    else:
        text = "\n".join([f"def {name}():", *(f"    {line}".rstrip() for line in body)])
        test = f"{path}::{name}"
    separator = "\n\n" if before.endswith("\n") or not before else "\n\n\n"
    return ReproducedExample(
        call=call,
        wrong=wrong,
        right=right,
        path=path,
        text=f"{before}{separator if before else ''}{text}\n",
        test=test,
    )


def _imports_of(text: str) -> Iterator[str]:
    """Yield the imports of a module, one statement for each name."""
    for part in parse_or_empty(text).body:
        if isinstance(part, ast.Import):
            yield from (f"import {alias.name}" for alias in part.names if not alias.asname)
        elif isinstance(part, ast.ImportFrom):
            yield from (f"from {part.module} import {alias.name}" for alias in part.names if not alias.asname)


def _nearest_test_file(tree: Path, function: str, imports: list[str]) -> str:
    """Return the test file that names the function most often, or that its module would have."""
    tests = [path for path in project_files(tree) if path.endswith(".py") and is_test_file(path)]
    counts = {path: len(re.findall(rf"\b{function}\b", read_regular_text(tree / path))) for path in tests}
    best = max(counts, key=lambda path: counts[path], default="")
    if best and counts[best]:
        return best
    words = imports[0].split() if imports else ["", function]
    stem = words[1].rpartition(".")[2]
    named = [path for path in tests if Path(path).name == f"test_{stem}.py"]
    folder = "tests/" if (tree / "tests").is_dir() else "test/" if (tree / "test").is_dir() else ""
    return named[0] if named else f"{folder}test_{stem}.py"
