"""Asks what edits answer to the calls that tests make, each edit in a fork of its own; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later.
"""

# ruff: noqa: PTH118, PTH123 - a test may have replaced pathlib
from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from coder_compare import Recorder  # type: ignore[import-not-found]  # they all lie beside this file
from coder_fork import Child  # type: ignore[import-not-found]
from coder_questions import Questions  # type: ignore[import-not-found]

RECORDING_LIMIT = 5.0
"""Seconds of processor time for a test of which the calls are recorded."""
COMPARE_SECONDS, FIRST_SHARE = 10.0, 0.25
"""At most so long for all the calls that one candidate answers; so much of the whole time for recording them, and for the unchanged code
to answer them."""
SLOW = 0.1
"""Seconds after which a call of the unchanged code is not asked again: the others have less time for it."""


class Asking:
    """The comparison that one request is about."""

    def __init__(self, trials: Any) -> None:
        self.trials = trials
        self.request: dict[str, Any] = trials.request
        self.before: list[str] = []

    def compare(self) -> None:
        """Write how the unchanged code, twice, and each of the candidates answer the calls that the tests make, and others like them."""
        with open(self.request["candidates"], encoding="utf-8") as file:
            candidates = [json.loads(line) for line in file]
        for answer in self.trials.all_of(Child(candidates, self.answers, seconds=self.request["seconds"])):
            self.trials.write(**answer)

    def answers(self, candidates: list[Any]) -> Iterator[Any]:
        """Runs in a fork, which records the calls and forks again for each candidate."""
        functions = {item["function"]: item["path"] for item in candidates if item["function"] is not None}
        recorder = Recorder(
            frozenset(os.path.join(self.request["tree"], path) for path in self.request["sources"]),
            frozenset(
                self.key_of(path, self.request["functions"][number]) for number, path in functions.items()
            ),
        )
        enough = time.monotonic() + self.left * FIRST_SHARE
        for test in [*self.trials.targets, *self.request["guards"]]:
            if test in self.trials.items and time.monotonic() < enough:
                recorder.begin(failing=test in self.trials.targets)
                sys.setprofile(recorder)
                self.trials.run(test, None, RECORDING_LIMIT)
                sys.setprofile(None)
        paths = dict.fromkeys(
            os.path.join(self.request["tree"], candidate["path"]) for candidate in candidates
        )
        questions = Questions(
            recorder,
            [self.trials.swapper.imported[path] for path in paths if path in self.trials.swapper.imported],
        )
        first = self.asked(None, questions, self.left * FIRST_SHARE)
        questions.keep([seconds < SLOW for _, seconds in first])
        self.before = [told for told, seconds in first if seconds < SLOW]
        yield {"index": -1, "calls": questions.described()}
        yield {"index": -1, "answers": self.before}
        others = [(-1, None), *enumerate(candidates)]
        for number, (index, candidate) in enumerate(others):
            told = self.asked(candidate, questions, self.left / (len(others) - number))
            yield {"index": index, "answers": [answer for answer, _ in told]}

    @property
    def left(self) -> float:
        return float(self.trials.deadline - time.monotonic())

    def key_of(self, path: str, function: dict[str, Any]) -> Any:
        """As coder_swap.key_of makes it of the function's code."""
        return os.path.join(self.request["tree"], path), function["name"], function["line"]

    def asked(self, candidate: dict[str, Any] | None, questions: Questions, seconds: float) -> list[Any]:
        """The answers in a fork of their own, each with the seconds that it took; as far as the time reaches."""
        most = min(seconds, COMPARE_SECONDS)
        told: list[Any] = self.trials.all_of(
            Child([candidate], lambda batch: self.answer(batch[0], questions, most), seconds=most)
        )
        return told

    def answer(self, candidate: dict[str, Any] | None, questions: Questions, seconds: float) -> Iterator[Any]:
        deadline = time.monotonic() + seconds
        undo = None if candidate is None else self.trials.put_into_effect(candidate, alone=True)
        if undo is None or not self.trials.swapper.stale:
            yield from self.timed(questions, deadline)
            return
        told = [*self.timed(questions, deadline)]
        if [answer for answer, _ in told] == self.before[
            : len(told)
        ]:  # what the function has made may be what matters
            undo()
            self.trials.put_into_effect(candidate, alone=True, again=True)
            told = [*self.timed(questions, deadline)]
        yield from told

    def timed(self, questions: Questions, deadline: float) -> Iterator[Any]:
        """Each answer with the seconds that it took, up to the first after the deadline."""
        before = time.monotonic()
        for told in questions.answers():
            after = time.monotonic()
            yield told, after - before
            if after > deadline:
                return
            before = time.monotonic()
