"""Verification of changes by the project's own tests.

    Patch -> Change -> TestReport* -> Facts, with Findings -> Verdict

`verifier.py` is the public face. `judge.py` runs what a verdict needs, each run in a clean worktree
(`trees.py`, `base.py`), and collects `Facts`; `checks/`, `examination.py`, `mutate.py` and `linters.py` add
`Finding`s, each a note, a cap (PASSING at most) or a break; `verdict.py` alone decides what follows, and
makes the sentence, the trailers and the evidence. The procedure:

1. targets on the change: green;
2. the base with the change's tests alone: red, twice, for the right reason (`failures.py`; for new API, the
   lack of a name that the change adds). The targets are told at once;
3. the suite, or the tests that reach the change, against the base: nothing newly red, seen again on both
   sides before it counts;
4. if the change edits or removes tests: the base's own versions of these on the changed sources, so that a
   rewritten test hides nothing.

A report on given content in a given environment is kept for a day (`run_store.py`): later runs, phases and
sessions do not make the run again; what has to be confirmed is run a second time under a label of its own.

Targets are run by name: the tests that the user names, those that the change adds or edits (`test_files.py`
compares the syntax of both versions of a file; other languages run the whole file), and red tests of the
base that `issue.py` ties to the issue (a shared example, an error message, a rare identifier). A new test
must share a stemmed word with the issue. Every other red test is an old failure: it is mentioned once, and
neither proves nor blocks anything, whatever a model names; user and model may exclude further tests
(`--not-test`, `hand_over`). A test counts as new, missing, red or green on a side only if it ran there, and
a run that was cut off asks nothing of files that it did not reach, nor counts what failed while it was
being killed. `checks/` keeps a verdict from being PROVEN (docs/threat-model.md): access to the test
process, special cases, tests that prove little, and in `checks/review.py` what the change's own text shows;
`test_edits.py` follows renamed tests and names weakened ones. `coder verify` judges an existing change the
same way (`strategies/verify_phase.py`), and so do the hooks of other agents and of git: `hooks/judging.py`
compares the work tree at the end of a turn with HEAD at the start of the agent's session, and remembers
what it judged.

`project.py` collects the commands that a project's files name; `run.py` runs a sample of small test files
with each until one works, and remembers it; if none does, the verdict is INCONCLUSIVE and says why. pytest,
unittest and Django run under our recorder, test by test, with ids `path::Class::method`; `launch.py`
translates files to the labels of the latter two. `runners/` has an adapter for each runner of another
language: it adds its own report, runs single tests or files, names tests `path::name`, and reports what
cannot be compiled as a red test file. Builds in a package's test script run before; packages of a workspace
are run one by one, each with its own script (`runners/workspaces.py`), and so are Python packages with a
configuration of their own or with modules of one name, each in its own directory (`packages.py`). The only
Python project below a root is run from the root, with its own configuration. Other commands count by the
report that they write, or by exit code, which proves nothing.

A cold run starts in `verify/target/coder_start.py`, which loads the recorder before the tree can be
imported. Records come over a sealed pipe (`recording.py`); each target's function is observed beside what
the runner says; both sides run the same selection. Everything in `verify/target/` runs in the project's own
interpreter, with the standard library only. If a changed module was loaded from outside the worktree (an
editable install), the verdict is INCONCLUSIVE.

Worktrees have copies of the checkout's extension modules. Once a change touches what these are compiled
from, `extensions.py` builds them from each side's own sources, in the sandbox, and only they reach the
worktrees that are tested. What does not compile, on either side, and an unknown build are INCONCLUSIVE.

The user may cut large runs short (`core/phases.py`): they end as if their time limit were reached, and so
do all that follow for this verdict.

The base's own suite is run before a change only where it is short (`base.py`); else its tests are
collected, and only those are run that do not pass on the change. Large runs are split by file over all
cores (`run.py`). How long a suite takes, and whether it bears that, is remembered (`project.py`). Worktrees
are reset, not made anew, and shared by all that only reads them (`repo/worktrees.py`).

If the whole suite takes longer than `foreground_suite_seconds`, the tests that reach the change stand for
it (`select.py`: by the names of the changed definitions and their callers, or by imports where names lead
to no test). They run in chunks, nearest first, within a budget; what did not run is the farthest, and the
verdict is PASSING at most then. A test that uses more processor time than any that ends
(`target/coder_limits.py`) is red where it was, and the others run.

A coverage map (`verify/coverage_map.py`) knows single tests by the functions that they enter and the files
that they read. It is recorded in cold runs (`coder map`, and while a model thinks) by
`verify/target/coder_coverage.py`, and holds on any tree with the same functions; `verify/impact.py` selects
tests by it, and by names where it does not cover a test file.

After such a verdict, outside of CI, a process at the lowest priority runs `coder verify --suite whole` on
the same change: a session of its own, which the first one's directory names (`wiring/whole_suite.py`). If
it finds the change broken, the commit's note says so, the next command of coder there says so first, and
`coder apply` refuses the change.

A good verdict is examined once more (`examination.py`): each hunk left out and each changed line broken, in
forks of a warm process that runs the targets (`mutate.py`); the project's own linters on both sides, and
public names (`linters.py`); the issue's own code where no test shows the change, and whether code that it
quotes still raises what it reports (`issue.py`).

Warm processes are for information only. Once a verdict was red, or a model runs tests, `warm.py` keeps the
base's tests collected, with a coverage map: the tests that a change reaches are then tried in forks first,
quickest and most diverse first, and the first red one is reported at once.

Packages that tests lack are asked about once (`session/approval.py`) and installed, wheels only, into an
overlay under the state directory (`dependencies.py`), read-only to later runs. A hunk that changes no
verdict (`session/delivery.py`) is marked in a review; `session/delivery.py` leaves it out and has the rest
proven again.
"""
