"""Projects, reports and commands of the adapters: tests/cases/runners."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.core.verdict import TestResult
from coder.verify.project import parse_command
from coder.verify.runners.adapter import Adapter, Run
from coder.verify.runners.registry import (
    find_adapter,
    find_commands,
    prepare_run,
    read_results,
    recognize_command,
    select_results,
)
from tests.builders import write_tree

CASES = sorted((Path(__file__).parents[2] / "cases" / "runners").glob("*/*.txt"))


class Case:
    """The lines of a case, and a project in a tree of its own."""

    def __init__(self, path: Path, tmp_path: Path) -> None:
        tree, place = tmp_path / "tree", tmp_path / "place"
        shutil.copytree(path.parent / "tree", tree)
        place.mkdir()
        self.places = {"{tree}": str(tree), "{place}": str(place)}
        self.recorded = path.parent / "recorded"
        self.text = path.read_text(encoding="utf-8")
        tests = tuple(self.said("test"))
        files = tuple(dict.fromkeys(test.partition("::")[0] for test in tests))
        self.run = Run(argv=(), tree=tree, place=place, files=files, tests=tests)

    def fill(self, text: str) -> str:
        for name, path in self.places.items():
            text = text.replace(name, path)
        return text

    def said(self, word: str) -> list[str]:
        """Return what follows a word at the beginning of a line."""
        return re.findall(f"^{word} (.*)$", self.text, re.MULTILINE)

    def expected(self) -> dict[str, list[str]]:
        """Return each result, such as `passed ID`, with the indented lines below it."""
        found = re.findall(
            r"^((?:passed|failed|skipped|error|collect) .*)\n((?: {4}.*\n)*)", self.text, re.MULTILINE
        )
        return {result: re.findall("^ {4}(.*)$", lines, re.MULTILINE) for result, lines in found}

    def read(self, adapter: Adapter, output: str) -> tuple[TestResult, ...]:
        """Read what a runner has written."""
        texts = {
            str(path.relative_to(self.recorded)): self.fill(path.read_text(encoding="utf-8"))
            for path in self.recorded.glob("**/*.*")
        }
        write_tree(self.run.place, texts)
        run = self.run.model_copy(update={"argv": (adapter.name,), "output": texts.get(output, "")})
        return select_results(read_results(adapter, run), run.tests)

    def run_project(self, adapter: Adapter) -> tuple[TestResult, ...]:
        """Run the tests with the command that is found, without a sandbox."""
        tree = self.run.tree
        command = parse_command(next(find_commands(tree))[0], Path("/venv/bin/python"), root=tree)
        assert command.runner == adapter.name
        run = self.run.model_copy(update={"argv": command.argv})
        invocation = prepare_run(adapter, run, command.builds)
        execution = subprocess.run(
            invocation.argv,
            cwd=tree,
            env={**os.environ, **invocation.environment, **command.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        run = run.model_copy(update={"output": execution.stdout})
        return select_results(read_results(adapter, run, command.builds), run.tests)


def named(adapter: str) -> Adapter:
    found = find_adapter(adapter)
    assert found is not None
    return found


def list_files(tree: Path) -> set[Path]:
    return {path for path in tree.rglob("*") if path.is_file()}


def heading(result: TestResult) -> str:
    return f"{'collect' if result.when == 'collect' else result.outcome} {result.id}"


def describe(result: TestResult) -> Iterator[str]:
    yield f"took {result.seconds:g}"
    if failure := result.failure:
        yield from f"{failure.type}: {failure.message}".splitlines()
        yield from failure.text.splitlines()
        frames = [frame for frame in failure.frames if not frame.path.startswith(("/", "<", "node:"))]
        yield f"at {' > '.join(f'{frame.path}:{frame.line}' for frame in frames)}"
        yield f"in {' > '.join(frame.function for frame in frames)}"


def matches(text: str, pattern: str) -> bool:
    """Return whether a text is what a case says, where `...` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text) is not None


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_runner(path: Path, tmp_path: Path) -> None:
    case = Case(path, tmp_path)
    for program in " ".join(case.said("needs")).split():
        if shutil.which(program) is None and not Path(program).expanduser().is_file():
            pytest.skip(f"{program} is not installed")
    if command := "".join(case.said("command")):
        recognized = recognize_command(command, case.run.tree)
        assert recognized is not None
        run = case.run.model_copy(update={"argv": recognized.argv})
        prepared = shlex.join(named(recognized.adapter).prepare(run).argv)
        assert matches(prepared, case.fill("".join(case.said("becomes")))), prepared
        return
    how, name, output = re.findall(r"^(run|read) (\S+) ?(.*)$", case.text, re.MULTILINE)[0]
    before = list_files(case.run.tree)
    read = case.run_project(named(name)) if how == "run" else case.read(named(name), output)
    results = {heading(result): result for result in read}
    expected = case.expected()
    assert expected
    assert sorted(results) == sorted(expected)
    for result, details in expected.items():
        described = [*describe(results[result])]
        for detail in details:
            assert any(matches(line, detail) for line in described), (result, detail, described)
    if "nothing" in case.said("leaves"):
        assert list_files(case.run.tree) == before
