"""Tries many edits in forks of a process that has collected the tests; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later, pytest 6.2 or later. Nothing in the tree is written: in each fork the code of the edited function is
replaced in memory, or the edited module is what gets imported where it has not been imported so far.
"""

# ruff: noqa: PTH110, PTH118, PTH123, B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations

import json
import os
import resource
import select
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from coder_asking import Asking  # type: ignore[import-not-found]  # they all lie beside this file
from coder_fork import Child, limit  # type: ignore[import-not-found]
from coder_single import Single  # type: ignore[import-not-found]
from coder_swap import Cold, Swapper, edited, overlay  # type: ignore[import-not-found]

FIRST_LIMIT = 5.0
"""Seconds of processor time for one test on the unchanged code; afterwards a multiple of what it took."""
LEAST_LIMIT, TIMES = 0.1, 10.0
ENDLESS = 0.01
"""A loop without end says nothing about how long the test takes when it ends: as long as others, but no less than so many seconds."""
LEAST_WAITING, WAITING = 0.3, 3.0
"""Seconds on the wall, and times what the test took there: one that waits for what never comes uses no processor time."""
PATIENT_LIMIT, PATIENT_WAITING = 2.0, 5.0
"""The least for each test where one that failed at once may take longer when it passes."""
ALONE = 32
"""So many candidates, the likeliest, are tried in forks of their own, where nothing that another one did can reach them."""
BATCH = 32
CANARIES = 3
"""So many guards are run on the unchanged code at the end of a batch: where one is red now, something was left behind."""
MEMORY = 3 << 30
FILE_SIZE = 256 << 20


class Trials:
    """The candidates of one request."""

    def __init__(self, items: list[Any], swapper: Swapper, request: dict[str, Any], opened: Any) -> None:
        """`opened` is the coder_watch.Opened of this process."""
        self.request = request
        self.swapper = swapper
        self.opened = opened
        self.deadline = time.monotonic() + request["seconds"]
        self.results = os.open(request["results"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.targets: list[str] = request["tests"]
        self.items = {item.nodeid: item for item in items}
        self.limits: dict[str, float] = {}
        self.waits: dict[str, float] = {}
        self.guards: set[str] = set()
        self.single = Single(self.items, request["tree"])
        for item in items[:1]:
            # Made before the forks, so that they share one and none removes another's.
            factory = getattr(item.config, "_tmp_path_factory", None)
            if factory is not None:
                factory.getbasetemp()

    def judge(self) -> None:
        warnings.simplefilter("ignore")  # of forking with threads about, for one
        if self.request.get("compare"):
            Asking(self).compare()
        elif self.measured():
            self.try_all()

    def write(self, **fields: Any) -> None:
        os.write(self.results, json.dumps(fields).encode("ascii") + b"\n")

    @property
    def over(self) -> bool:
        return time.monotonic() > self.deadline or os.path.exists(self.request["stop"])

    def all_of(self, child: Child) -> list[Any]:
        """What a fork has answered when it has ended, or time has."""
        while not child.ended and not child.expired and not self.over:
            child.read(0.05)
        child.kill()
        return list(child.answers)

    def measured(self) -> bool:
        """Run everything on the unchanged code, once: what is not red here cannot turn green, what is red guards nothing."""
        # In pytest's own order: what one test sets up for the session, a later one may need.
        targets, guards = set(self.targets), set(self.request["guards"])
        self.targets = [test for test in self.items if test in targets]
        tests = [*self.targets, *(test for test in self.items if test in guards - targets)]
        answers = self.all_of(
            Child([], lambda _: self.measure(tests), seconds=FIRST_LIMIT * (1 + len(tests)))
        )
        # Of a test that was run twice, the first run says how it ends and what it takes at first, the last what it takes then.
        found = {test: (green, seconds) for test, green, seconds, *_ in reversed(answers)}
        warm = {test: seconds for test, _, seconds, *_ in answers}
        ending = [warm[test] for test, (green, _) in found.items() if green]
        usual = max(ENDLESS, sum(ending) / max(len(ending), 1))
        least, waiting = (
            (PATIENT_LIMIT, PATIENT_WAITING) if self.request["patient"] else (LEAST_LIMIT, LEAST_WAITING)
        )
        self.limits = {
            test: max(least, (seconds or usual) + TIMES * (warm[test] or usual))
            for test, (_, seconds) in found.items()
        }
        self.waits = {
            test: waiting + WAITING * max(waited or 0.0, self.limits[test])
            for test, _, _, waited, _ in reversed(answers)
        }
        self.targets = [test for test in self.targets if test in found and not found[test][0]]
        # Another process reads what is on the disk: whoever confirms an edit asks that, where a test of this one tells anything.
        elsewhere = {test for test, *_, processes in answers if processes}
        self.targets = [test for test in self.targets if test not in elsewhere] or self.targets
        self.guards = {test for test, (green, _) in found.items() if green}
        if not self.targets:
            self.write(
                problem="The failing tests pass when they run alone: what fails is their order, or a state that is left behind."
            )
        return bool(self.targets)

    def measure(self, tests: list[str]) -> Iterator[Any]:
        """Those for which it matters once more: the first time, much is made that the next has at once."""
        slow = []
        for told in self.measure_once(tests):
            if told[2] is not None and told[2] > LEAST_LIMIT / TIMES:
                slow.append(told[0])
            yield told
        yield from self.measure_once(slow)

    def measure_once(self, tests: list[str]) -> Iterator[Any]:
        for test, following in zip(tests, [*tests[1:], None]):
            self.opened.forget()
            started, began = time.process_time(), time.monotonic()
            outcome = self.run(test, following, FIRST_LIMIT)
            spent, waited = time.process_time() - started, time.monotonic() - began
            yield (
                test,
                outcome == "passed",
                *((None, None) if outcome == "timeout" else (spent, waited)),
                self.opened.processes,
            )

    def try_all(self) -> None:
        with open(self.request["candidates"], encoding="utf-8") as file:
            fresh = self.batches(file)
            again: list[list[Any]] = []
            live: dict[int, Child] = {}
            while not self.over:
                while len(live) < self.request["jobs"]:
                    batch = again.pop() if again else next(fresh, None)
                    if batch is None:
                        break
                    child = Child(batch, self.attempt, seconds=self.patience(batch[0][1]))
                    live[child.pipe] = child
                if not live:
                    return
                for pipe in select.select([*live], [], [], 0.02)[0]:
                    live[pipe].read(0)
                for pipe in [pipe for pipe, child in live.items() if child.ended or child.expired]:
                    again += self.settled(live.pop(pipe))
            for child in live.values():
                child.kill()

    def batches(self, lines: Any) -> Iterator[list[Any]]:
        """The likeliest candidates, and those whose modules are still to be imported, get forks of their own."""
        batch: list[Any] = []
        for index, line in enumerate(lines):
            candidate = json.loads(line)
            alone = index < ALONE or not self.is_imported(candidate) or candidate["function"] is None
            if batch and (alone or len(batch) == BATCH):
                yield batch
                batch = []
            batch.append((index, candidate))
            if alone:
                yield batch
                batch = []
        if batch:
            yield batch

    def patience(self, candidate: dict[str, Any]) -> float:
        return 4.0 + sum(self.limits[test] for test in (*self.targets, *self.guards_of(candidate)))

    def guards_of(self, candidate: dict[str, Any]) -> list[str]:
        return [
            test
            for test in (self.request["guards"][number] for number in candidate["guards"])
            if test in self.guards
        ]

    def attempt(self, batch: list[Any]) -> Iterator[Any]:
        """Runs in the fork: ends before its time where what was seen may have left something behind."""
        for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE_SIZE)):
            limit(kind, most)
        alone = len(batch) == 1
        for _, candidate in batch:
            outcome, test = self.attempt_one(
                candidate, self.guards_of(candidate) if alone else [], alone=alone
            )
            yield outcome, test
            if outcome in ("passed", "timeout"):
                return
        if not alone and self.first_red(self.guards_of(batch[-1][1])[:CANARIES]) is not None:
            yield "polluted", ""

    def attempt_one(self, candidate: dict[str, Any], guards: list[str], *, alone: bool) -> tuple[str, str]:
        for again in (False, True):
            try:
                undo = self.put_into_effect(candidate, alone=alone, again=again)
            except (SyntaxError, ValueError):
                return "invalid", ""
            except Cold:
                return "cold" if alone else "alone", ""
            except BaseException as error:  # noqa: BLE001 - of the module when it is executed: whatever it was, it cannot be imported
                return "failed", type(error).__name__
            stale = self.swapper.stale
            red = self.first_red([*self.targets, *guards])
            if red is None:
                return "passed", ""
            undo()
            if not stale:
                break
            if not alone:
                return "alone", ""
        outcome, test = red or ("passed", "")
        return ("broke" if outcome == "failed" and test in guards else outcome), test

    def is_imported(self, candidate: dict[str, Any]) -> bool:
        return os.path.join(self.request["tree"], candidate["path"]) in self.swapper.imported

    def put_into_effect(self, candidate: dict[str, Any], *, alone: bool, again: bool = False) -> Any:
        """Swap the function, or else execute the module again, which only a fork that is for nothing else can do; returns its undoing.

        `again`: what the function had made before it was swapped may be what matters, for the project's modules or for those of the tests.
        """
        self.swapper.forget_results()
        self.swapper.stale = False
        path = os.path.join(self.request["tree"], candidate["path"])
        if not self.is_imported(candidate):
            return overlay(path, edited(path, candidate["changes"]))
        try:
            if again or candidate["function"] is None:
                raise Cold("it changes what happens at import")
            return self.swapper.swap(
                path, self.request["functions"][candidate["function"]], candidate["source"], anyway=True
            )
        except Cold:
            if not alone:
                raise
            self.swapper.execute_again(path, edited(path, candidate["changes"]))
            if again:
                made_again([self.items[test] for test in self.targets])
            return lambda: None  # what cannot be undone ends with the fork

    def first_red(self, tests: list[str]) -> tuple[str, str] | None:
        """Run tests up to the first that is not green: how it ended, and which it was."""
        for test, following in zip(tests, [*tests[1:], None]):
            outcome = self.run(test, following, self.limits[test])
            if outcome != "passed":
                return outcome, test
        return None

    def settled(self, child: Child) -> list[list[Any]]:
        """Write what became of a batch and return what has to be tried again, in a fork of its own or in another batch."""
        child.kill()
        answers = child.answers
        if answers and answers[-1][0] == "polluted":
            return [[candidate] for candidate in reversed(child.batch)]
        again = []
        for (index, candidate), (outcome, test) in zip(child.batch, answers):
            if outcome in ("passed", "alone") and len(child.batch) > 1:
                again.append([(index, candidate)])
            else:
                self.write(index=index, outcome=outcome, test=test)
        left = child.batch[len(answers) :]
        if left and not (answers and answers[-1][0] in ("passed", "timeout")):
            self.write(index=left[0][0], outcome="timeout" if child.expired else "crashed", test="")
            left = left[1:]
        return again + ([left] if left else [])

    def run(self, test: str, following: str | None, limit: float) -> str:
        outcome: str = self.single.run(
            test, following, limit=limit, waiting=self.waits.get(test, WAITING * limit)
        )
        return outcome


def made_again(items: list[Any]) -> None:
    """Execute the modules of tests again, as they were collected, and let the tests be what they hold then."""
    functions = [item for item in items if isinstance(item, pytest.Function)]
    for module in dict.fromkeys(item.module for item in functions):
        module.__spec__.loader.exec_module(module)
    for item in functions:
        for node in item.listchain():
            if not isinstance(node, pytest.Module):
                vars(node).pop("_obj", None)
        vars(item).pop("_instance", None)
