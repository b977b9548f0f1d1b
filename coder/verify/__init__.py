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

Targets are run by name: the tests that the user names, those that the change adds or edits (`test_files.py`
compares the syntax of both versions of a file; other languages run the whole file), and red tests of the
base that `issue.py` ties to the issue (a shared example, an error message, a rare identifier). A new test
must share a stemmed word with the issue. Every other red test is an old failure: it is mentioned once, and
neither proves nor blocks anything, whatever a model names; user and model may exclude further tests
(`--not-test`, `hand_over`). A test counts as new, missing, red or green on a side only if it ran there, and
a run that was cut off asks nothing of files that it did not reach, nor counts what failed while it was
being killed. `test_edits.py` follows renamed tests and names weakened ones. `coder verify` and the hooks of
other agents and of git (`hooks/judging.py`) judge an existing change the same way.

`project.py` collects the commands that a project's files name; `run.py` runs a sample of small test files
with each until one works, and remembers it; if none does, the verdict is INCONCLUSIVE and says why. pytest,
unittest and Django run under our recorder, test by test, with ids `path::Class::method`; `runners/` has an
adapter for each runner of another language, which names tests `path::name`. Packages of a workspace are run
one by one (`runners/workspaces.py`), and so are Python packages with a configuration of their own or with
modules of one name (`packages.py`). Other commands count by the report that they write, or by exit code,
which proves nothing.

A cold run starts in `verify/target/coder_start.py`, which loads the recorder before the tree can be
imported. Records come over a sealed pipe (`recording.py`); each target's function is observed beside what
the runner says; both sides run the same selection. Everything in `verify/target/` runs in the project's own
interpreter: standard library only, Python 3.8 and pytest 6.2 or later. If a changed module was loaded from
outside the worktree (an editable install), the verdict is INCONCLUSIVE. A report on given content in a given
environment is kept for a day (`run_store.py`); what has to be confirmed is run a second time under a label of
its own.

The base's own suite is run before a change only where it is short (`base.py`); else its tests are
collected, and only those are run that do not pass on the change. If the whole suite takes longer than
`foreground_suite_seconds`, the tests that reach the change stand for it, nearest first, within a budget
(`select.py`, by names; `impact.py`, by a recorded coverage map); what did not run is the farthest, and the
verdict is PASSING at most then. The user may cut large runs short (`core/phases.py`): they end as if their
time limit were reached, and so do all that follow for this verdict.

Extension modules that a change touches are built from each side's own sources (`extensions.py`). Packages
that tests lack are asked about once and installed into an overlay (`dependencies.py`), read-only to later
runs. Warm processes (`warm.py`) are for information only: the tests that a change reaches are tried in forks
first, and the first red one is reported at once.
"""
