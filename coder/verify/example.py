"""The code that an issue writes, run on the untouched code and on changes, and written as a test.

`IssueCode` serves the first message, the search without a model, and the verdict. All of it is a
stranger's text: it runs in a read-only sandbox without a network, in a tree of its own.
"""

import ast
import builtins
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path

from pydantic import TypeAdapter

from coder.core.errors import SandboxError
from coder.core.paths import is_test_file, is_test_path, test_file_of
from coder.core.ports import Limits, ReproducedExample, Sandbox
from coder.core.values import READ_ONLY, Value
from coder.core.verdict import BehaviorExample
from coder.core.verdict_summary import shorten_value
from coder.files.regular_files import project_files, read_regular_text
from coder.python.source import Function, find_nodes, parse_or_empty
from coder.retrieval.issue_examples import (
    NUMBER,
    ClaimedExample,
    claimed_examples,
    find_runnable_code,
    is_evaluable,
    parse_literal,
    quoted_code,
)
from coder.verify.launch import TARGET
from coder.verify.layout import module_name, source_roots
from coder.verify.project import Project
from coder.verify.results import NETWORK_MESSAGES

NO_VALUES = frozenset(
    {
        *("a", "an", "everyone", "i", "it", "nobody", "nothing", "one", "something", "that", "the", "they"),
        *("this", "we", "what", "you"),
    }
)
"""Words that begin a phrase where a value might stand."""
_FLOAT = re.compile(r"\d\.\d")
_UNREPEATABLE = re.compile(r"0x[0-9a-f]{4,}|\d{4}-\d\d-\d\d \d\d:")
"""Addresses and times, which another run gives otherwise."""
SECONDS = 10.0
"""Seconds that the code of an issue may run."""
MOST_VARIED, SHOWN_VARIED, VARIED_SECONDS = 20, 2, 0.5
"""Varied pieces of it that are run, those that are shown, and the time that they have on a side."""


SHOWN, MOST_SHOWN = 3, 300
"""Examples whose results are shown, and characters of each result."""
LEAST_MESSAGE = 6
"""Shorter messages may occur in any issue by chance."""
_EXPECTS_ERROR = re.compile(
    r"(?i)\b(?:should|must|ha(?:s|ve) to|ought to)\s+(?:also\s+|still\s+|then\s+|always\s+)?"
    r"(?:raise|throw|reject|refuse|fail)\b"
)
_ADDRESS = re.compile(r"0x[0-9a-f]+|/\S+")
_INCOMPLETE = frozenset(
    {"NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError"}
)
"""Exceptions that show that the code needs more than the issue quotes."""


class RaisedError(Value):
    """The exception that ended a piece of code."""

    type: str
    message: str
    place: str = ""
    """The innermost line of the tree in its traceback, such as `shop/cart.py:12`; empty if none is."""

    @property
    def is_accident(self) -> bool:
        """Whether it shows that names or the network are missing, which says nothing of the project."""
        return self.type in _INCOMPLETE or NETWORK_MESSAGES.search(self.message) is not None

    def is_reported_in(self, issue: str) -> bool:
        """Tell whether an issue names the message, or the type where the message is short."""
        if len(self.message) >= LEAST_MESSAGE and self.message in issue:
            return True
        return re.search(rf"\b{re.escape(self.type)}\b", issue) is not None


class CodeAnswer(Value):
    """Result of a piece of code, or the exception that ends it."""

    error: RaisedError | None
    value: str
    type: str = ""
    """Class of the value with its module, such as `decimal.Decimal`; empty for an exception."""
    is_printed: bool = False
    """True if the value was written rather than returned."""

    @property
    def text(self) -> str:
        return f"raises {self.error.type}: {self.error.message}" if self.error else self.value

    @property
    def comparable_text(self) -> str:
        """The answer without addresses and paths, which differ from run to run."""
        return _ADDRESS.sub("", self.text)


def read_answers(output: str) -> list[CodeAnswer | None]:
    """Return the answers on the last line of output, by piece; empty if there are none."""
    try:
        return _ANSWERS.validate_json(output.strip().rpartition("\n")[2])
    except ValueError:
        return []


_ANSWERS = TypeAdapter(list[CodeAnswer | None])


NO_CLAIM = "the issue has no example in a form that is read here, such as `f(x)` returns 1 instead of 2"


class IssueCode:
    """Runs the code of issues in a read-only sandbox, on the untouched code and on changes."""

    def __init__(self, project: Project, sandbox: Sandbox, scratch: Path) -> None:
        self._project = project
        self._sandbox = sandbox
        self._scratch = scratch

    def find_lost_imports(
        self, check_out_old: Callable[[], AbstractContextManager[Path]], new: Path, changed: Sequence[str]
    ) -> Iterator[str]:
        """Yield the changed modules that only the old tree can import, each with the new one's error.

        The old tree is checked out only where the new one cannot import a module.
        """
        for path in changed:
            if not (name := module_name(path, new)) or not (new / path).is_file():
                continue
            now = next(iter(self._answer([f"import {name}"], [], new)), None)
            if now is None or now.error is None:
                continue
            with check_out_old() as old:
                is_old = (old / path).is_file()
                before = next(iter(self._answer([f"import {name}"], [], old)), None) if is_old else None
            if before is not None and before.error is None:
                yield f"{name} ({now.error.type}: {now.error.message.partition(chr(10))[0]})"

    def answer_quoted(
        self, old: Path, new: Path, issue: str, targets: Sequence[str], changed: Sequence[str]
    ) -> tuple[list[str], list[BehaviorExample]]:
        """Run the code that an issue quotes in both trees, with the imports of the target tests.

        Return half a sentence for each exception that the issue reports and the change leaves, and the
        answers that differ, some to the same code with other texts and numbers. `changed` are the paths of
        changed sources.
        """
        files = dict.fromkeys(map(test_file_of, targets))
        tests = [read_regular_text(new / path) for path in files if path.endswith(".py")]
        imports = [statement for text in tests for statement in _import_statements(text)]
        modules = [module for statement in imports for module in _imported_modules(statement)]
        modules += [name for path in changed if (name := module_name(path, new)) and name not in modules]
        pieces = quoted_code(issue) if tests else ()
        persisting: list[str] = []
        differing: dict[tuple[str, str], BehaviorExample] = {}

        def compare(pieces: Sequence[str], seconds: float, *, tested: bool) -> Iterator[str]:
            sides = [
                self._answer(pieces, imports, tree, modules=modules, seconds=seconds) for tree in (old, new)
            ]
            for code, before, after in zip(pieces, *sides, strict=False):
                if not before or not after or (before.error and before.error.type in _INCOMPLETE):
                    continue
                call = "; ".join(filter(str.strip, code.strip().splitlines()))
                if after.comparable_text != before.comparable_text:
                    row = BehaviorExample(call=call, before=before.text, after=after.text, tested=tested)
                    differing.setdefault((before.text, after.text), row)
                    yield code
                elif before.error and before.error.is_reported_in(issue) and not _EXPECTS_ERROR.search(issue):
                    line, raised = code.strip().splitlines()[0], before.error
                    persisting.append(
                        f"`{line}` of the issue raises {raised.type} as before: {raised.message}"
                    )

        found = [*compare(pieces, SECONDS, tested=True)]
        own, reported = len(differing), [*persisting]
        varied = [*dict.fromkeys(chain(*map(_vary, found)))][:MOST_VARIED]
        _ = [*compare(varied, VARIED_SECONDS, tested=False)]
        return reported, [*differing.values()][: own + SHOWN_VARIED]

    def describe(self, tree: Path, issue: str) -> tuple[str, ...]:
        """Return what the issue's examples give in a tree, a clause each.

        Left out is code that lacks names, uses nothing of the project, or wants the network.
        """
        pieces = {
            code: imports
            for code in find_runnable_code(issue)
            if not isinstance(imports := _find_imports(code, tree), str)
            and _uses_project(code, imports, tree)
        }
        imports = [statement for found in pieces.values() for statement in found]
        shown = [*pieces][:SHOWN]
        answers = self._answer(shown, [*dict.fromkeys(imports)], tree)
        rights = {example.code: example.right for example in claimed_examples(issue) if example.right}
        return tuple(
            _describe_answer(code, answer, rights.get(code, ""))
            for code, answer in zip(shown, answers, strict=False)
            if answer is not None and not (answer.error and answer.error.is_accident)
        )

    def reproduce(self, tree: Path, issue: str) -> ReproducedExample | str:
        """Return the first example that the code of a tree reproduces twice; else why there is none."""
        reason, expects_error = NO_CLAIM, _EXPECTS_ERROR.search(issue) is not None
        for example in claimed_examples(issue):
            if not example.right and expects_error:
                continue
            imports = _find_imports(example.code, tree)
            if isinstance(imports, str):
                reason = imports
                continue
            outcome = self._check(tree, example, imports, expects_error=expects_error)
            if isinstance(outcome, ReproducedExample):
                return outcome.model_copy(update={"is_wish": example.is_wish})
            reason = outcome
        return reason

    def answer_again(self, tree: Path, example: ReproducedExample) -> str:
        """Return what a reproduced example gives in another tree, twice; empty if that cannot be told."""
        texts = {
            _result_text(answer)
            for _ in range(2)
            for answer in self._answer([example.code], example.imports, tree)
            if answer is not None
        }
        return texts.pop() if len(texts) == 1 else ""

    def _answer(
        self,
        pieces: Sequence[str],
        imports: Sequence[str],
        tree: Path,
        *,
        modules: Sequence[str] = (),
        seconds: float = SECONDS,
    ) -> list[CodeAnswer | None]:
        request = {"imports": imports, "modules": modules, "pieces": pieces, "seconds": seconds}
        return read_answers(self.run_request(json.dumps(request), tree)) if pieces else []

    def _check(
        self, tree: Path, example: ClaimedExample, imports: list[str], *, expects_error: bool
    ) -> ReproducedExample | str:
        first, second = (next(iter(self._answer([example.code], imports, tree)), None) for _ in "12")
        if first is None or second is None:
            return f"`{example.call}` could not be run"
        shown = _result_text(first)
        if first.text != second.text or _UNREPEATABLE.search(first.value):
            return f"`{example.call}` gives something else each time"
        if example.wrong and not _is_written(example.wrong, first):
            return f"on the untouched code `{example.call}` {_describe_result(shown)}"
        right = _in_type_of(example.right, first)
        if right is None and (statement := _class_import(example.right, first)) is not None:
            imports = [*dict.fromkeys([*imports, statement])] if statement else imports
            made = next(iter(self._answer([example.right], imports, tree)), None)
            right = made.value if made and not made.error and made.type == first.type else None
        if right is None and first.error and not expects_error:
            # Of what type the value is cannot be known: what is no code is its text, else it must not raise.
            if not parse_or_empty(example.right).body and not example.call.startswith(("print(", "str(")):
                text = {"call": f"str({example.call})", "right": repr(example.right)}
                example = example.model_copy(update=text)
                return self._check(tree, example, imports, expects_error=expects_error)
            right = ""
        if right is None:
            return f"what `{example.call}` should give is not a value that can be compared"
        if right == shown:
            return f"on the untouched code `{example.call}` {_describe_result(shown)} already"
        found = _write_test(tree, example.call, shown, right, imports, setup=example.setup)
        return found.model_copy(update={"is_wish": example.is_wish})

    def run_request(self, request: str, tree: Path) -> str:
        """Run `coder_script.py` on a request in a tree; return its output, empty if it cannot be run."""
        with tempfile.TemporaryDirectory(prefix="script-", dir=self._scratch) as place:
            file = Path(place, "request.json")
            file.write_text(request, encoding="utf-8")
            argv = (str(self._project.interpreter), str(TARGET / "coder_script.py"), str(file))
            try:
                execution = self._sandbox.run(
                    argv,
                    cwd=tree,
                    environment=self._environment(tree),
                    policy=READ_ONLY,
                    limits=Limits(wall_seconds=SECONDS),
                )
            except SandboxError:
                return ""
        return execution.output if execution.exit_code == 0 else ""

    def _environment(self, tree: Path) -> Mapping[str, str]:
        roots = os.pathsep.join(str(root) for root in source_roots(tree) or (tree,))
        return {**self._project.environment, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1"}


def _vary(code: str) -> Iterator[str]:
    """Yield code with another text, or another number, in its last expression."""
    module = parse_or_empty(code)
    if not module.body or not isinstance(module.body[-1], ast.Expr):
        return
    for node in find_nodes(module.body[-1], ast.Constant):
        known = node.value
        if isinstance(known, str | int | float) and not isinstance(known, bool):
            for value in (known * 2, known[:0]) if isinstance(known, str) else (known * 100 + 7, -known, 0):
                node.value = value
                yield ast.unparse(module)
            node.value = known


def _result_text(answer: CodeAnswer) -> str:
    return f"raises {answer.error.type}" if answer.error else answer.value


def _describe_result(shown: str) -> str:
    return shown if shown.startswith("raises ") else f"gives {shown}"


class ExampleAnswer(Value):
    example: ReproducedExample
    answer: str
    """As `wrong` and `right` are written; empty if it cannot be told."""

    @property
    def is_as_before(self) -> bool:
        return self.answer == self.example.wrong

    @property
    def is_right(self) -> bool:
        if self.example.right:
            return _is_same(self.answer, self.example.right)
        return bool(self.answer) and not self.answer.startswith("raises ")

    @property
    def is_wrong(self) -> bool:
        """Whether the answer is known and differs from the expected one.

        A container with floats counts as wrong only if it is as before: an issue may round them.
        """
        right = self.example.right
        if not right or (_FLOAT.search(right) and not NUMBER.fullmatch(right)):
            return self.is_as_before
        return bool(self.answer) and not self.is_right

    @property
    def summary(self) -> str:
        """The answer beside the one on the base, as a clause."""
        call, wrong = self.example.call, self.example.wrong
        now = _describe_result(self.answer)
        if self.is_wrong:
            before = " as before" if self.is_as_before else ""
            wanted = f", instead of {self.example.right}" if self.example.right else ""
            if self.example.right.startswith("raises "):
                wanted = f", and does not raise {self.example.right[7:]}"
            return f"the issue's `{call}` {now}{before}{wanted}"
        was = f"raised {wrong[7:]}" if wrong.startswith("raises ") else f"gave {wrong}"
        return f"the issue's `{call}` {now} and {was} before"


def _is_same(shown: str, right: str) -> bool:
    """Tell whether two results are equal, floats but for rounding to the digits that the issue gives."""
    if all(NUMBER.fullmatch(text) for text in (right, shown)):
        digits = len(right.partition(".")[2]) if "e" not in right.lower() else 0
        half = 0.5 * 10**-digits if digits else 0.0
        return math.isclose(float(right), float(shown), rel_tol=1e-6, abs_tol=half)
    return shown == right


def _describe_answer(code: str, answer: CodeAnswer, right: str) -> str:
    lines = code.strip().splitlines()
    name = f"`{lines[0]}`" if len(lines) == 1 else f"the example that ends with `{lines[-1].strip()}`"
    if answer.error:
        place = f", in {answer.error.place}" if answer.error.place else ""
        shown = f"raises {answer.error.type}: {answer.error.message}"
        return f"{name} {shorten_value(shown, limit=MOST_SHOWN)}{place}"
    verb = "prints" if answer.is_printed else "gives" if answer.value else "runs without an error"
    is_right = right and _in_type_of(right, answer) == _result_text(answer)
    note = ": ALREADY what the issue expects" if is_right else ""
    return f"{name} {verb} {shorten_value(answer.value, limit=MOST_SHOWN)}".rstrip() + note


def _is_written(written: str, answer: CodeAnswer) -> bool:
    """Tell whether a result is what the issue writes, where quotes and `.0` may be missing."""
    if answer.error:
        return written in (f"raises {answer.error.type}", answer.error.type)
    value = answer.value
    expected, actual = parse_literal(written), parse_literal(value)
    if expected is not None and actual is not None and ast.dump(expected) == ast.dump(actual):
        return True
    return written in (value, value.strip("'\""), value.removesuffix(".0"))


def _in_type_of(written: str, answer: CodeAnswer) -> str | None:
    """Return the right result as an expression of the type that the wrong one has; None if it is prose."""
    if not written or written.startswith("raises "):
        return written if written or answer.error else None
    literal = parse_literal(written)
    is_text = answer.error is None and answer.value[:1] in ("'", '"')
    if is_text and written.lower() in NO_VALUES:
        return None
    if (
        is_text
        and written not in ("None", "True", "False")
        and not (literal is not None and isinstance(literal, ast.Constant) and isinstance(literal.value, str))
    ):
        return repr(written)
    return ast.unparse(literal) if literal is not None else None


def _class_import(written: str, answer: CodeAnswer) -> str | None:
    """Return the import for a value that calls the class of the wrong result with literals, as
    `Decimal('1.5')` does; None if it is no such value.
    """
    module, _, name = answer.type.rpartition(".")
    match parse_or_empty(written).body:
        case [ast.Expr(value=ast.Call(func=func, args=values, keywords=keywords))] if all(
            parse_literal(ast.unparse(node)) is not None
            for node in [*values, *(part.value for part in keywords)]
        ):
            called = ast.unparse(func)
        case _:
            return None
    if called == name:
        return f"from {module} import {name}" if module != "builtins" else ""
    return f"import {module}" if called == f"{module}.{name}" else None


def _find_imports(code: str, tree: Path) -> list[str] | str:
    """Return statements that import what code names and does not bind, or why a name has not one meaning."""
    names = _free_names(code)
    roots = source_roots(tree) or (tree,)
    packages = {
        name for name in names for root in roots if (root / name).is_dir() or (root / f"{name}.py").is_file()
    }
    calls = find_nodes(parse_or_empty(code), ast.Call)
    packages -= {node.func.id for node in calls if isinstance(node.func, ast.Name)}
    homes = _find_definitions([name for name in names if name not in packages], tree)
    statements = []
    for name in names:
        if name in packages:
            statements.append(f"import {name}")
            continue
        modules = [found for path in homes[name] if (found := module_name(path, tree))]
        if hasattr(builtins, name):
            statements += [f"from {modules[0]} import {name}"] if len(modules) == 1 else []
            continue
        if len(modules) > 1 or (homes[name] and not modules):
            return f"`{name}` is defined in {' and in '.join(homes[name][:2])}"
        if modules:
            statements.append(f"from {modules[0]} import {name}")
        elif name in sys.stdlib_module_names:
            statements.append(f"import {name}")
        elif standard := _find_standard_import(name, tree):
            statements.append(standard)
        else:
            return f"`{name}` is not defined at the top level of a module here"
    return statements


def _find_standard_import(name: str, tree: Path) -> str:
    """Return how the project imports a name of the standard library; empty unless all do it in one way."""
    pattern = re.compile(rf"^from ([\w.]+) import [^\n]*\b{re.escape(name)}\b", re.MULTILINE)
    texts = (read_regular_text(tree / path) for path in project_files(tree) if path.endswith(".py"))
    modules = {module for text in texts for module in pattern.findall(text)}
    is_standard = {module.partition(".")[0] for module in modules} <= sys.stdlib_module_names
    return f"from {modules.pop()} import {name}" if len(modules) == 1 and is_standard else ""


def _uses_project(code: str, imports: Sequence[str], tree: Path) -> bool:
    tops = {
        name.partition(".")[0]
        for statement in (*imports, *_import_statements(code))
        for name in _imported_modules(statement)
    }
    roots = source_roots(tree) or (tree,)
    return any((root / name).is_dir() or (root / f"{name}.py").is_file() for root in roots for name in tops)


def _free_names(code: str) -> list[str]:
    """Return the names that code uses and does not bind, among Python's own those of functions that it calls.

    There are none if it imports a `*`.
    """
    module = parse_or_empty(code)
    aliases = [*find_nodes(module, ast.alias)]
    if any(alias.name == "*" for alias in aliases):
        return []
    bound = {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    bound |= {node.arg for node in find_nodes(module, ast.arg)}
    bound |= {node.id for node in find_nodes(module, ast.Name) if not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in ast.walk(module) if isinstance(node, Function | ast.ClassDef)}
    bound |= {node.name for node in find_nodes(module, ast.ExceptHandler) if node.name}
    names = dict.fromkeys(node.id for node in find_nodes(module, ast.Name))
    called = {node.func.id for node in find_nodes(module, ast.Call) if isinstance(node.func, ast.Name)}
    own = {name for name in dir(builtins) if name not in called or isinstance(getattr(builtins, name), type)}
    return [name for name in names if name not in bound and name not in own]


def _find_definitions(names: Sequence[str], tree: Path) -> dict[str, list[str]]:
    """Return the sources that define each name at the top level, by name."""
    homes: dict[str, list[str]] = {name: [] for name in names}
    if not names:
        return homes
    either = "|".join(map(re.escape, names))
    assigned = "|".join(re.escape(name) for name in names if not hasattr(builtins, name)) or "(?!)"
    pattern = re.compile(rf"^(?:(?:async )?(?:def|class) ({either})\b|({assigned})\s*=)", re.MULTILINE)
    for path in sorted(project_files(tree)):
        if path.endswith(".py") and not is_test_path(path):
            for groups in {*pattern.findall(read_regular_text(tree / path))}:
                homes[next(filter(None, groups))].append(path)
    return homes


def write_example(tree: Path, call: str, right: str) -> ReproducedExample | str:
    """Return a test that a call gives a literal, or `raises X`; else why there is none."""
    if "..." in call or not is_evaluable(call):
        return f"{call} is no Python that a test can hold"
    imports = _find_imports(call, tree)
    if isinstance(imports, str):
        return imports
    error = right.removeprefix("raises ").partition(":")[0]
    if right.startswith("raises ") and error.isidentifier():
        return _write_test(tree, call, "", f"raises {error}", imports)
    if parse_literal(right) is None:
        return f"{right} is not a value that a test can compare"
    return _write_test(tree, call, "", right, imports)


def _write_test(
    tree: Path, call: str, wrong: str, right: str, imports: list[str], *, setup: str = ""
) -> ReproducedExample:
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
    lines = [statement for statement in imports if not _has_import(known, statement)]
    is_class = "TestCase)" in before and not re.search(r"^def test_", before, re.MULTILINE)
    body = [*setup.splitlines(), *_write_check(call, right, is_class=is_class)]
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
        imports=tuple(imports),
        setup=setup,
    )


def _write_check(call: str, right: str, *, is_class: bool) -> list[str]:
    """Return the lines that check a call: for a value, for `raises X`, or for no exception if empty."""
    if right.startswith("raises "):
        raising = "self.assertRaises" if is_class else "pytest.raises"
        return [f"with {raising}({right.removeprefix('raises ')}):", f"    {call}"]
    if not right:
        return [call]
    is_float = isinstance(parse_literal(right), ast.Constant) and isinstance(ast.literal_eval(right), float)
    if is_class:
        return [f"self.{'assertAlmostEqual' if is_float else 'assertEqual'}({call}, {right})"]
    comparison = "is" if right in ("None", "True", "False") else "=="
    return [f"assert {call} {comparison} {f'pytest.approx({right})' if is_float else right}"]


def _imports_of(text: str) -> Iterator[str]:
    """Yield the imports of a module, one statement for each name."""
    for part in parse_or_empty(text).body:
        if isinstance(part, ast.Import):
            yield from (f"import {alias.name}" for alias in part.names if not alias.asname)
        elif isinstance(part, ast.ImportFrom):
            yield from (f"from {part.module} import {alias.name}" for alias in part.names if not alias.asname)


def _has_import(known: Collection[str], statement: str) -> bool:
    """Tell whether a module imports a name, from a module or another one of its package."""
    start, _, name = statement.rpartition(" import ")
    package = start.partition(".")[0]
    return statement in known or any(
        re.match(rf"{package}\b", other) and other.endswith(f" import {name}") for other in known if start
    )


def _nearest_test_file(tree: Path, function: str, imports: list[str]) -> str:
    """Return the test file that names the function most often, or that its module has, or would have.

    A module has the file of its name, else the one that names it most often, else the only one. One with
    `load_tests` picks its tests itself.
    """
    texts = {
        path: text
        for path in project_files(tree)
        if path.endswith(".py") and is_test_file(path)
        if "def load_tests(" not in (text := read_regular_text(tree / path))
    }
    stem = (imports[0].split()[1] if imports else function).rpartition(".")[2]

    def nearness(path: str) -> tuple[int, bool, int]:
        function_count, stem_count = (
            len(re.findall(rf"\b{name}\b", texts[path])) for name in (function, stem)
        )
        return function_count, Path(path).stem in (f"test_{stem}", f"{stem}_test"), stem_count

    best = max(texts, key=nearness, default="")
    if best and (any(nearness(best)) or len(texts) == 1):
        return best
    folder = "tests/" if (tree / "tests").is_dir() else "test/" if (tree / "test").is_dir() else ""
    return f"{folder}test_{stem}.py"


def _import_statements(text: str) -> list[str]:
    nodes = parse_or_empty(text).body
    return [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def _imported_modules(statement: str) -> list[str]:
    names = []
    for node in parse_or_empty(statement).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, node.module.partition(".")[0]]
        elif isinstance(node, ast.Import):
            names += [part for alias in node.names for part in (alias.name, alias.name.partition(".")[0])]
    return list(dict.fromkeys(names))
