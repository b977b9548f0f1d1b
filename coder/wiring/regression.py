"""Search for the change that turned a test red: a session's reply, a commit, and its hunks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Unpack

from coder.core.errors import UserError
from coder.core.events import FilesChanged, MessageFinished, Record, SessionStarted, Verified, newest_event
from coder.core.paths import test_file_of, test_function_of
from coder.core.state import candidate_records
from coder.core.text import suggest_name
from coder.core.values import AssistantMessage, Value
from coder.core.verdict import TestReport
from coder.patching.git_hunks import rebuild_diff, split_git_diff
from coder.repo.delivery import has_change
from coder.repo.git import SHALLOW_CLONE, Git
from coder.repo.repository import SessionRepository
from coder.repo.worktrees import apply_to_tree, commit_tree, compose_tree, diff_trees
from coder.session.log import find_session, read_records, stored_sessions
from coder.verify.run import PytestRunner
from coder.verify.select import find_tests
from coder.wiring.session import RuntimeOptions, open_runtime

RUNS = 3
"""Runs of the test in each state, as for the targets of a verdict."""
MOST_UNTESTABLE = 20
"""Number of untestable states in a row at which older ones are given up."""
MOST_SESSIONS = 20
"""Newest sessions here among which one is sought whose change the checkout holds."""

MOST_CHARACTERS = 120

Light = Literal["green", "red", "unsteady", "untestable"]
LIGHT_WORDS: Mapping[Light, str] = {"unsteady": "flaky", "untestable": "cannot be run"}
Report = Callable[[str], None]


class Observation(Value):
    """Outcome of a test in one state of the code, over repeated runs."""

    light: Light
    detail: str = ""
    """The failure, or why the test could not be run."""
    at_collection: bool = False
    """True if the test's file could not be imported."""

    @property
    def line(self) -> str:
        """Return it in words."""
        words = LIGHT_WORDS.get(self.light, self.light)
        return f"{words}: {self.detail}" if self.detail else words


class Regression(Value):
    """Why a test is red."""

    test: str
    now: Observation
    stage: Literal["", "reply", "work", "commit"] = ""
    """Kind of change that turned it red; empty if none was found."""
    explanation: str = ""
    """Why none was found."""
    green: str = ""
    """Newest state before it that was seen green."""
    culprit: str = ""
    """The change that turned the test red."""
    suspects: tuple[str, ...] = ()
    """Further changes that may be it, because they could not be tested."""
    hunks: tuple[str, ...] = ()
    """Smallest set of its hunks that turns the test red on the state before it."""
    diff: str = ""
    """These hunks."""
    removable: bool = False
    """True if the test is green in the present state without these hunks."""
    skipped: tuple[str, ...] = ()
    """States that could not be tested, or in which the test is not steady, each with the reason."""
    runs: int = 0


def find_regression(
    directory: Path,
    test: str,
    *,
    session: str = "",
    good: str | None = None,
    runs: int = RUNS,
    report_progress: Report = lambda _: None,
    **options: Unpack[RuntimeOptions],
) -> Regression:
    """Find the change that turned a test red; the checkout, its index, stash and branches stay untouched.

    A `session` is searched alone, from its start to its last change; otherwise the newest session whose
    change the checkout holds, then the uncommitted work and the commits back to `good`, or as far as needed.

    Raises:
        UserError: the repository cannot be worked on, or there is no such test, session or revision.
    """
    with open_runtime(directory, **options) as (repository, runtime):
        with repository.checkout(repository.base) as tree:
            runner = runtime.runner()
            test = _resolve_test(runner, tree, test)
        search = _Search(repository, runner, test=test, runs=runs, report_progress=report_progress)
        return search.run(session=session, good=good)


def _resolve_test(runner: PytestRunner, tree: Path, test: str) -> str:
    """Return the id of the Python test that has a name; any other text as it is, for the runner to judge."""
    files = sorted({test_file_of(id) for id in find_tests(tree) if id.endswith(f"::{test}")})
    collected = runner.collect(tree, files).collected if files else ()
    functions = {test_function_of(id) for id in collected}
    matches = sorted(id for id in functions if id.endswith(f"::{test}"))
    if len(matches) > 1:
        raise UserError(f"Several tests are called {test}: {', '.join(matches)}. Name one of them.")
    return matches[0] if matches else test


@dataclass
class _Search:
    repository: SessionRepository
    runner: PytestRunner
    test: str
    runs: int
    report_progress: Report
    current: str = ""
    """The newest state, whose version of the test stands in where a state has none."""
    accepts_collection_errors: bool = False
    count: int = 0
    observations: dict[tuple[str, int], Observation] = field(default_factory=dict)
    skipped: dict[str, Observation] = field(default_factory=dict)

    @property
    def git(self) -> Git:
        return self.repository.user_checkout.git

    def run(self, *, session: str, good: str | None) -> Regression:
        if session:
            directory = find_session(session, repository=self.repository.root)
            replies = self._replies(directory)
            if replies is None:
                raise UserError(f"Session {directory.name} holds no change that can be built again here.")
            found = self._search_replies(directory.name, replies)
            return found if isinstance(found, Regression) else self._explain(found, "the session's start")
        now = self._begin(self.repository.base)
        if now.light != "red":
            return self._explain(now)
        if good is None:
            for directory in self._find_delivered_session():
                replies = self._replies(directory)
                if replies is not None and isinstance(
                    found := self._search_replies(directory.name, replies), Regression
                ):
                    return found
                self._begin(self.repository.base)
        return self._search_commits(now, good)

    def _begin(self, state: str) -> Observation:
        """Observe the newest state, against whose failure all others are compared."""
        self.current = state
        self.accepts_collection_errors = True
        now = self.observe(state)
        self.accepts_collection_errors = now.at_collection
        self.report_progress(f"now  {now.line}")
        return now

    def _explain(self, now: Observation, where: str = "") -> Regression:
        sentences: dict[Light, str] = {
            "green": "There is nothing to look for.",
            "red": f"It is red at {where or 'every state'}, too: the change that turned it red is older.",
            "unsteady": "It is flaky: the same code passes and fails, so no change can be blamed for it.",
            "untestable": "It cannot be run.",
        }
        return self._result(now, explanation=sentences[now.light])

    def _result(self, now: Observation, **fields: object) -> Regression:
        skipped = tuple(f"{name} ({seen.line})" for name, seen in self.skipped.items())
        return Regression.model_validate(
            {"test": self.test, "now": now, "skipped": skipped, "runs": self.count, **fields}
        )

    # sessions

    def _find_delivered_session(self) -> Iterator[Path]:
        """Yield the newest session that delivered what the present state holds, if there is one."""
        for directory, _, finished in islice(stored_sessions(self.repository.root), MOST_SESSIONS):
            commit = finished.delivery.commit if finished and finished.delivery else ""
            if commit and self.git.resolve_commit(commit):
                if has_change(self.git, commit, self.repository.base):
                    yield directory
                return

    def _replies(self, directory: Path) -> dict[str, str] | None:
        """Return the states of a session by commit, oldest first, with their names; None without any.

        Each reply that changed files becomes a commit on top of the one before, which no branch holds.
        """
        records = read_records(directory)
        started = newest_event(records, SessionStarted)
        base = started and self.git.resolve_commit(started.base)
        changes = reply_diffs(records)
        if not base or not changes:
            return None
        states, parent = {base: "the session's start"}, base
        for number, diff in changes.items():
            tree = apply_to_tree(self.git, diff, onto=base, root=self.repository.root)
            if tree is not None and tree != self.git.resolve_tree(parent):
                parent = commit_tree(self.git, tree=tree, parent=parent, subject=f"reply {number}")
                states[parent] = f"reply {number}"
        return states if len(states) > 1 else None

    def _search_replies(self, session: str, states: dict[str, str]) -> "Regression | Observation":
        """Search a session's replies up to the newest red one; return what the test is if there is none."""
        first, *replies = states
        for last in reversed(replies):  # later ones may have taken the change back
            if (now := self._begin(last)).light == "red":
                break
        else:
            return now
        if (at_start := self.observe(first)).light != "green":
            return at_start
        self.report_progress(f"session {session}: green at its start, red at {states[last]}")
        return self._blame(now, goods=[first], bad=last, stage="reply", names=states, suffix=f" of {session}")

    # commits

    def _search_commits(self, now: Observation, good: str | None) -> Regression:
        bad = self.repository.base
        if good is not None:
            commit = self.git.resolve_commit(good)
            if commit is None:
                raise UserError(f"There is no revision {good!r} here.")
            if (seen := self.observe(commit)).light != "green":
                raise UserError(f"{self.test} is {seen.line} at {good}: name a state where it is green.")
        else:
            commit, bad = self._find_green(bad)
            if commit is None:
                explanation = "It was green in no state of the history that could be tested."
                if (missing := self.git.explain_missing_history()) == SHALLOW_CLONE:
                    explanation += f" Older ones are not here: {missing}"
                return self._result(now, explanation=explanation)
        names = {self.repository.base: "the uncommitted work"} if self.repository.dirty else {}
        return self._blame(now, goods=[commit], bad=bad, stage="commit", names=names)

    def _find_green(self, newest: str) -> tuple[str | None, str]:
        """Return a green ancestor, and the oldest state seen red after it.

        Steps back double; a state that cannot be tested is passed over.
        """
        history = self.git.text("rev-list", "--first-parent", newest).splitlines()
        red, step, skipped = 0, 1, 0
        while red + step < len(history) and skipped < MOST_UNTESTABLE:
            match self._observe_noted(history[red + step]).light:
                case "green":
                    return history[red + step], history[red]
                case "red":
                    red, skipped = red + step, 0
                    step = min(step * 2, max(len(history) - 1 - red, 1))
                case _:
                    step, skipped = step + 1, skipped + 1
        return None, history[red]

    def _blame(
        self,
        now: Observation,
        *,
        goods: list[str],
        bad: str,
        stage: Literal["reply", "commit"],
        names: dict[str, str],
        suffix: str = "",
    ) -> Regression:
        bad, parent, suspects = find_first_bad(
            self.git, goods=goods, bad=bad, observe=lambda commit: self._observe_noted(commit, names)
        )
        numbers, diff = self._guilty_hunks(parent, bad)
        kept = rebuild_diff(diff, numbers)
        without = apply_to_tree(
            self.git, kept, onto=self.repository.base, root=self.repository.root, reverse=True
        )
        is_removable = without is not None and self.observe(without).light == "green"
        return self._result(
            now,
            stage="work" if names.get(bad) == "the uncommitted work" else stage,
            green=names.get(parent, "") or self._describe(parent),
            culprit=f"{names[bad]}{suffix}" if bad in names else self._describe(bad),
            suspects=[names.get(commit) or self._describe(commit) for commit in suspects],
            hunks=_name_hunks(diff, numbers),
            diff=kept,
            removable=is_removable,
        )

    def _guilty_hunks(self, old: str, new: str) -> tuple[list[int], str]:
        """Return a smallest set of hunks that turns the test red on `old`, and the whole change."""
        diff = diff_trees(self.git, old=old, new=new)
        numbers = list(range(len(split_git_diff(diff))))

        def is_red(chosen: Sequence[int], runs: int = 1) -> bool:
            part = apply_to_tree(self.git, rebuild_diff(diff, chosen), onto=old, root=self.repository.root)
            return part is not None and self.observe(part, runs).light == "red"

        self.report_progress(f"{len(numbers)} hunk{'s' * (len(numbers) != 1)}")
        smallest = minimize_failure(numbers, is_red)
        return (smallest if is_red(smallest, self.runs) else numbers), diff

    # runs

    def _observe_noted(self, commit: str, names: Mapping[str, str] = MappingProxyType({})) -> Observation:
        seen, name = self.observe(commit), names.get(commit) or self._describe(commit)
        if seen.light in ("unsteady", "untestable"):
            self.skipped[name] = seen
        self.report_progress(f"{name}  {seen.line}")
        return seen

    def _describe(self, commit: str) -> str:
        return self.git.text("log", "-1", "--format=%h %s", commit)

    def observe(self, revision: str, runs: int = 0) -> Observation:
        """Return the test's outcome in a state; it is red or green only if all runs agree."""
        key = self.git.resolve_tree(revision), runs or self.runs
        if key not in self.observations:
            self.observations[key] = self._observe(*key)
        return self.observations[key]

    def _observe(self, tree: str, runs: int) -> Observation:
        seen = self._run(tree, runs)
        if seen is None and self.current:
            present = compose_tree(self.git, old=tree, new=self.current, paths=[test_file_of(self.test)])
            seen = self._run(present, runs)
        if seen is None:
            with self.repository.checkout(tree) as place:
                names = find_tests(place)
            known = names if "::" in self.test else {name.rpartition("::")[2] for name in names}
            raise UserError(f"There is no test {self.test} here. {suggest_name(self.test, known)}".rstrip())
        if seen.at_collection and seen.light == "red" and not self.accepts_collection_errors:
            return Observation(light="untestable", detail=seen.detail)
        return seen

    def _run(self, tree: str, runs: int) -> Observation | None:
        """Run the test repeatedly in a clean worktree, until outcomes differ; None if it is not there."""
        observed: list[Observation] = []
        with self.repository.checkout(tree) as place:
            while len(observed) < runs and len({seen.light for seen in observed}) < 2:
                self.count += 1
                seen = _read_report(self.runner.run(place, [self.test]))
                if seen is None or seen.light == "untestable":
                    return seen
                observed.append(seen)
        if len({seen.light for seen in observed}) < 2:
            return observed[0]
        reds = [seen for seen in observed if seen.light == "red"]
        detail = f"red in {len(reds)} of {len(observed)} runs, {reds[0].detail}"
        return Observation(light="unsteady", detail=detail)


def _read_report(report: TestReport) -> Observation | None:
    """Return what a run says of its test; None if the test is not there."""
    problem, failures = report.problem, report.project_failures
    if problem is not None and problem.kind == "no_tests":
        return None
    if problem is not None and not (problem.kind == "crash" and failures):
        return Observation(light="untestable", detail=problem.text.splitlines()[0][:MOST_CHARACTERS])
    if failures:
        first = failures[0]
        detail = first.failure.headline if first.failure else ""
        is_import = all(result.when == "collect" for result in failures)
        return Observation(light="red", detail=detail, at_collection=is_import)
    if any(result.green for result in report.results):
        return Observation(light="green")
    if report.lacks:
        return Observation(light="untestable", detail=f"the sandbox has {report.lacks}")
    return Observation(light="untestable", detail="it is skipped") if report.results else None


def reply_diffs(records: Sequence[Record]) -> dict[int, str]:
    """Return the whole change after each reply that changed files, by the reply's number from 1.

    They are those of the candidate that was judged last, its ancestors' included.
    """
    newest = newest_event(records, Verified) or newest_event(records, FilesChanged)
    diffs: dict[int, str] = {}
    replies = 0
    for record in candidate_records(records, newest.candidate) if newest else ():
        match record.event:
            case MessageFinished(message=AssistantMessage()):
                replies += 1
            case FilesChanged(diff=diff):
                diffs.setdefault(replies, diff)  # a later one is no reply's: it takes a failed change back
    return diffs


def _name_hunks(diff: str, numbers: Sequence[int]) -> list[str]:
    """Return the names of hunks by their numbers in their file's change, from 1."""
    paths = [hunk.path for hunk in split_git_diff(diff)]
    return [
        f"hunk {paths[: number + 1].count(paths[number])} of {paths[number]}"
        if paths.count(paths[number]) > 1
        else f"the change of {paths[number]}"
        for number in numbers
    ]


def find_first_bad(
    git: Git, *, goods: Sequence[str], bad: str, observe: Callable[[str], Observation]
) -> tuple[str, str, tuple[str, ...]]:
    """Return the first bad commit after the good ones, as `git bisect` finds it, the newest good one before
    it, and the suspects between them that could not be tested.

    Each step tests the commit that best halves the rest of the graph among those that can be tested.
    """
    known_goods, skipped = list(goods), set[str]()
    while True:
        rows = git.text("rev-list", "--bisect-all", bad, "--not", *known_goods).splitlines()
        commits = [row.split()[0] for row in rows]
        untested = [commit for commit in commits if commit != bad and commit not in skipped]
        if not untested:
            before = git.text("rev-list", "--topo-order", f"{bad}~1").splitlines()
            good = min((good for good in known_goods if good in before), key=before.index)
            return bad, good, tuple(commit for commit in commits if commit != bad)
        match observe(untested[0]).light:
            case "red":
                bad = untested[0]
            case "green":
                known_goods.append(untested[0])
            case _:
                skipped.add(untested[0])


def minimize_failure(items: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    """Return a subset that fails and of which no single item can be omitted (ddmin, Zeller 1999).

    All items together are known to fail.
    """
    rest, parts = list(items), 2
    while len(rest) > 1:
        size = -(-len(rest) // parts)
        chunks = [rest[start : start + size] for start in range(0, len(rest), size)]
        complements = [[item for item in rest if item not in chunk] for chunk in chunks] if parts > 2 else []
        smaller = next((part for part in (*chunks, *complements) if fails(part)), None)
        if smaller is not None:
            parts = 2 if len(smaller) <= size else max(parts - 1, 2)
            rest = smaller
        elif parts < len(rest):
            parts = min(parts * 2, len(rest))
        else:
            break
    return rest
