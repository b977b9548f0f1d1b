"""Runner of a project's own tests, as far as the repair benchmark needs their outcomes."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SUMMARY = re.compile(r"^(PASSED|FAILED|ERROR) (\S+::.*?)(?: - .*)?$", re.MULTILINE)
COUNT = re.compile(r"\d+ (passed|failed|error)")


@dataclass(frozen=True)
class Suite:
    """A test command: an interpreter that has what the project needs, and arguments for pytest."""

    python: str
    arguments: tuple[str, ...] = ()
    seconds: float = 180.0

    @property
    def command(self) -> str:
        return " ".join([self.python, "-m", "pytest", *self.arguments])

    def results(self, tree: Path, tests: Sequence[str] = ()) -> dict[str, str] | None:
        """Return the outcome of each test by its id; None if the run itself did not end."""
        command = [
            self.python,
            "-m",
            "pytest",
            *self.arguments,
            "-q",
            "-rA",
            "--tb=no",
            "--color=no",
            "-p",
            "no:cacheprovider",
            *tests,
        ]
        try:
            result = subprocess.run(
                command, cwd=tree, env=environment(tree), capture_output=True, text=True, timeout=self.seconds
            )
        except subprocess.TimeoutExpired:
            return None
        return (
            {test: outcome for outcome, test in SUMMARY.findall(result.stdout)}
            if COUNT.search(result.stdout)
            else None
        )

    def passes(self, tree: Path, expected: Sequence[str]) -> bool:
        """Return whether all of these tests are green; a test whose parameters are named differently now,
        such as by the time, is green if all its cases are.
        """
        results = self.results(tree) or {}
        outcomes: dict[str, set[str]] = {}
        for test, outcome in results.items():
            outcomes.setdefault(test.partition("[")[0], set()).add(outcome)
        return all(
            (results.get(test) or "".join(outcomes.get(test.partition("[")[0], ()))) == "PASSED"
            for test in expected
        )


def environment(tree: Path) -> dict[str, str]:
    """Return variables with which sources of the tree come first and nothing is left behind."""
    roots = os.pathsep.join(str(place) for place in (tree / "src", tree) if place.is_dir())
    return {**os.environ, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def newly_failing(before: dict[str, str] | None, after: dict[str, str] | None) -> tuple[str, ...]:
    """Return tests that pass in one run and fail in the other."""
    if before is None or after is None:
        return ()
    return tuple(
        test for test, outcome in after.items() if outcome == "FAILED" and before.get(test) == "PASSED"
    )
