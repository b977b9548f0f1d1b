"""Adapter of RSpec."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.verify.runners.adapter import (
    LONGEST_TEXT,
    Invocation,
    Run,
    collection_failure,
    find_program,
    normalize_failure,
    plain_text,
    read_json,
)
from coder.verify.runners.arguments import split_operands, without_options
from coder.verify.runners.sources import find_positions, read_source

REPORT = "report.json"
WITH_VALUES = (
    *("-I", "-r", "--require", "-O", "--options", "--order", "--seed", "-f", "--format", "-o", "--out"),
    *("-P", "--pattern", "--exclude-pattern", "-e", "--example", "-E", "--example-matches", "-t", "--tag"),
    *("--default-path", "--failure-exit-code", "--error-exit-code", "--drb-port", "--deprecation-out"),
)
SELECTING = ("-e", "--example", "-E", "--example-matches", "-P", "--pattern")
LOAD_ERROR = re.compile(r"An error occurred while loading (?:\./)?(?P<path>\S+?\.rb)\b")
BACKTRACE_LINE = re.compile(r"^(?P<path>[^:\n]+\.rb):(?P<line>\d+):in [`'](?P<function>.*)'$")
REPEATED = re.compile(r" #\d+$")
"""Number that the second example of a name is given."""
OUTCOMES: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed"}


class RSpec:
    """Adapter of RSpec."""

    name = "rspec"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command if there are specs; through Bundler where it is installed and has a lock file."""
        if (root / ".rspec").is_file() or next((root / "spec").glob("**/*_spec.rb"), None):
            is_bundled = (root / "Gemfile.lock").is_file() and shutil.which("bundle")
            yield "bundle exec rspec" if is_bundled else "rspec"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether the program is RSpec, itself or started by Bundler or Ruby."""
        return find_program(words, "rspec", through=("bundle", "exec", "ruby")) is not None

    def prepare(self, run: Run) -> Invocation:
        """Name files, and the full descriptions of examples: they are more stable than numbers."""
        start = (find_program(run.argv, "rspec", through=("bundle", "exec", "ruby")) or 0) + 1
        words = without_options(run.argv[start:], ("-f", "--format", "-o", "--out"), WITH_VALUES)
        if run.files:
            options, _ = split_operands(without_options(words, SELECTING, WITH_VALUES), WITH_VALUES)
            words = (*options, *_selection(run.tests), *run.files)
        report = ("--format", "json", "--out", str(run.place / REPORT), "--no-color", "--backtrace")
        return Invocation(argv=(*run.argv[:start], *report, *words))

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results in the report; files that could not be loaded are named in its messages."""
        report = read_json(run.place / REPORT)
        for example in report.get("examples", ()):
            yield _to_result(example, run.tree)
        for message in map(str, report.get("messages", ())):
            if match := LOAD_ERROR.search(message):
                text = re.sub(r"Error:\n\s+", "Error: ", plain_text(message).strip())
                stack = "\n".join(line.removeprefix("# ") for line in text.splitlines())
                frames = tuple(reversed(find_positions(stack, run.tree.resolve())))
                yield collection_failure(match["path"], text.partition("Failure/Error:")[2] or text, frames)


def _selection(tests: Sequence[str]) -> tuple[str, ...]:
    """Return the options that select examples by description; none if a whole file is asked for."""
    names = [REPEATED.sub("", test.partition("::")[2]) for test in tests]
    return tuple(word for name in dict.fromkeys(names) for word in ("-e", name)) if all(names) else ()


def _to_result(example: Mapping[str, Any], tree: Path) -> TestResult:
    path = str(example.get("id") or example.get("file_path")).partition("[")[0].removeprefix("./")
    outcome = OUTCOMES.get(str(example.get("status")), "skipped")
    return TestResult(
        id=f"{path}::{example.get('full_description')}",
        outcome=outcome,
        seconds=example.get("run_time") or 0.0,
        failure=_parse_exception(example.get("exception") or {}, tree) if outcome == "failed" else None,
    )


def _parse_exception(exception: Mapping[str, Any], tree: Path) -> Failure:
    lines = [str(line) for line in exception.get("backtrace") or ()]
    frames = [
        Frame(
            path=match["path"].removeprefix(f"{tree.resolve()}/").removeprefix("./"),
            line=int(match["line"]),
            function=match["function"],
        )
        for line in lines
        if (match := BACKTRACE_LINE.match(line)) and read_source(tree, match["path"])
    ]
    type, message = str(exception.get("class")).rpartition("::")[2], str(exception.get("message")).strip()
    text = "\n".join([message, *lines])[:LONGEST_TEXT]
    return normalize_failure(Failure(type=type, message=message, text=text), reversed(frames))
