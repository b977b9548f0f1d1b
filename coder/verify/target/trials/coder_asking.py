"""Comparison of edits by their answers to the calls that tests make, each edit in its own fork.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

# ruff: noqa: PTH118, PTH123 - a test may have replaced pathlib
from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from coder_compare import Recorder  # type: ignore[import-not-found]  # on the import path of the run
from coder_fork import ForkedChild  # type: ignore[import-not-found]
from coder_questions import Questions  # type: ignore[import-not-found]

RECORDING_LIMIT = 5.0
"""Processor time limit, in seconds, for a test whose calls are recorded."""
COMPARE_SECONDS, FIRST_SHARE = 10.0, 0.25
"""Time limit in seconds for all answers of one candidate; share of the whole time for recording the calls,
and for the answers of the unchanged code.
"""
SLOW = 0.1
"""Seconds after which a call of the unchanged code is not repeated, to leave time for the others."""


class EditComparison:
    """The comparison for one request."""

    def __init__(self, trials: Any) -> None:
        self.trials = trials
        self.request: dict[str, Any] = trials.request
        self.before: list[str] = []

    def compare(self) -> None:
        """Write the answers of the unchanged code, twice, and of each candidate to the same calls.

        The calls are those that the tests make, and variations of them.
        """
        with open(self.request["candidates"], encoding="utf-8") as file:
            candidates = [json.loads(line) for line in file]
        child = ForkedChild(candidates, self.answers, seconds=self.request["seconds"])
        for answer in self.trials.wait_for_answers(child):
            self.trials.write(**answer)

    def answers(self, candidates: list[Any]) -> Iterator[Any]:
        """Record the calls and yield all answers; runs in a fork, which forks again for each candidate."""
        functions = {each["function"]: each["path"] for each in candidates if each["function"] is not None}
        edited = (self.key_of(path, self.request["functions"][number]) for number, path in functions.items())
        sources = (os.path.join(self.request["tree"], path) for path in self.request["sources"])
        recorder = Recorder(frozenset(sources), frozenset(edited))
        recording_end = time.monotonic() + self.seconds_left * FIRST_SHARE
        for test in [*self.trials.targets, *self.request["guards"]]:
            if test in self.trials.items and time.monotonic() < recording_end:
                recorder.begin(failing=test in self.trials.targets)
                sys.setprofile(recorder)
                self.trials.run(test, None, RECORDING_LIMIT)
                sys.setprofile(None)
        paths = dict.fromkeys(os.path.join(self.request["tree"], each["path"]) for each in candidates)
        imported = self.trials.swapper.imported
        questions = Questions(recorder, [imported[path] for path in paths if path in imported])
        base_answers = self.answers_in_fork(None, questions, self.seconds_left * FIRST_SHARE)
        questions.keep([seconds < SLOW for _, seconds in base_answers])
        self.before = [candidate_answers for candidate_answers, seconds in base_answers if seconds < SLOW]
        yield {"index": -1, "calls": questions.as_text()}
        yield {"index": -1, "answers": self.before}
        others = [(-1, None), *enumerate(candidates)]
        for number, (index, candidate) in enumerate(others):
            share = self.seconds_left / (len(others) - number)
            answers = self.answers_in_fork(candidate, questions, share)
            yield {"index": index, "answers": [answer for answer, _ in answers]}

    @property
    def seconds_left(self) -> float:
        """Seconds left until the deadline."""
        return float(self.trials.deadline - time.monotonic())

    def key_of(self, path: str, function: dict[str, Any]) -> Any:
        """Return the key that coder_swap.key_of gives the function's code."""
        return os.path.join(self.request["tree"], path), function["name"], function["line"]

    def answers_in_fork(
        self, candidate: dict[str, Any] | None, questions: Questions, seconds: float
    ) -> list[Any]:
        """Return the answers of one candidate from its own fork, each with its seconds.

        Answers after the time limit are missing.
        """
        limit = min(seconds, COMPARE_SECONDS)
        child = ForkedChild([], lambda _batch: self.answer(candidate, questions, limit), seconds=limit)
        return list(self.trials.wait_for_answers(child))

    def answer(self, candidate: dict[str, Any] | None, questions: Questions, seconds: float) -> Iterator[Any]:
        """Yield the answers of one candidate.

        If they equal those of the unchanged code and the function ran before, the module is executed again
        first.
        """
        deadline = time.monotonic() + seconds
        undo = None if candidate is None else self.trials.put_into_effect(candidate, alone=True)
        if undo is None or not self.trials.swapper.stale:
            yield from self.timed_answers(questions, deadline)
            return
        answers = [*self.timed_answers(questions, deadline)]
        if [answer for answer, _ in answers] == self.before[: len(answers)]:
            undo()  # objects made by the old function may hide the difference
            self.trials.put_into_effect(candidate, alone=True, again=True)
            answers = [*self.timed_answers(questions, deadline)]
        yield from answers

    def timed_answers(self, questions: Questions, deadline: float) -> Iterator[Any]:
        """Yield each answer with its seconds, up to the first one after the deadline."""
        before = time.monotonic()
        for answer in questions.answers():
            after = time.monotonic()
            yield answer, after - before
            if after > deadline:
                return
            before = time.monotonic()
