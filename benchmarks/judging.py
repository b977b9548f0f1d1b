"""Judgement of a patch that differs from the right answer, by the behaviour of the changed functions."""

import ast
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import behaviour
from benchmarks.cases import module_of
from benchmarks.suites import Suite, environment


def changed_functions(
    tree: Path, other: Path | None, path: str, texts: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return `module:Qualified.name` of each outermost function whose body is not the same in two trees,
    or in a tree and texts.
    """
    right = texts[path] if texts is not None else (other / path).read_text(encoding="utf-8") if other else ""
    own_functions, other_functions = (
        dict(_functions(ast.parse(text))) for text in ((tree / path).read_text(encoding="utf-8"), right)
    )
    return tuple(
        f"{module_of(path)}:{name}"
        for name in own_functions
        if own_functions[name] != other_functions.get(name)
    )


def _functions(tree: ast.AST, outer: str = "") -> Iterator[tuple[str, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{outer}{node.name}", ast.dump(node)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{outer}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _functions(node, outer)


def answers(suite: Suite, right: Path, trees: Sequence[Path], target: str) -> list[str]:
    """Return a function's answers in each tree to the calls that tests make in the right one, and to
    others like them; empty if unknown.
    """
    with tempfile.TemporaryDirectory(prefix="behaviour-") as name:
        program = Path(shutil.copy(behaviour.__file__, name))
        calls = Path(name, "calls.pickle")
        variables = environment(right)
        variables |= {
            "PYTHONPATH": f"{variables['PYTHONPATH']}:{name}",
            "BEHAVIOUR_TARGET": target,
            "BEHAVIOUR_FILE": str(calls),
        }
        command = [
            suite.python,
            "-m",
            "pytest",
            *suite.arguments,
            "-q",
            "-p",
            "behaviour",
            "-p",
            "no:cacheprovider",
        ]
        try:
            subprocess.run(command, cwd=right, env=variables, capture_output=True, timeout=suite.seconds)
            return [_play(suite, tree, program, target, calls) for tree in trees]
        except subprocess.TimeoutExpired:
            return ["" for _ in trees]


def _play(suite: Suite, tree: Path, program: Path, target: str, calls: Path) -> str:
    result = subprocess.run(
        [suite.python, str(program), target, str(calls)],
        cwd=tree,
        env=environment(tree),
        capture_output=True,
        text=True,
        timeout=suite.seconds,
    )
    return result.stdout if result.returncode == 0 else ""
