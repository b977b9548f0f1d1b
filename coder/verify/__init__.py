"""Verification of changes by the project's own tests.

    Patch -> Change -> TestReport* -> Facts, with Findings -> Verdict

`verifier.py` is the public face: what a `WorktreeVerifier` does is `judge` a change, `examine` its verdict,
`reproduce` what is red on the base, and `run_tests` on a candidate. They are methods of one object, since
they share what is known of the base. `judge.py` runs what a verdict needs, each run in a clean worktree
(`change.py`, `base.py`), and collects `Facts`; `checks.py`, `examine.py` and `behavior/comparison.py` add
`Finding`s as it does: a note, an `open` line (FIXED at most), a cap (PASSING at most) or a break (BROKEN);
`verdict.py` decides what follows, and makes the sentence. A change has four contents: the
base, the base with the tests' side of the change, the changed sources with the base's tests' side, and the
change. The first stage:

1. the targets on the change and on the base with its tests, at the same time: green, and red for the right
   reason (`results.py`). Targets are what the user names, what the change adds or edits (`test_files.py`
   compares the syntax of both versions of a file), red tests of the base that `change.py` ties to the issue,
   and the issue's own example (`example.py`). An edited or removed test is judged by running its old version
   on the changed sources: still red, it is not fixed; red where it passed, it contradicts the change;
2. the tests that reach the change (`select.py`), nearest first,
   within a budget, with the base's helpers if the change edits any. Those of the base run only where the
   change does not pass, or beside them as long as no target is known;
3. what seems broken, and quick targets, once more on both sides.

Then the word is said. The second stage, `examine.py`, runs the targets without the recorder, compares
behavior, runs linters and mutants; only after it a change is PROVEN. The user may cut large runs short
(`core/values.py`). `coder verify` and the hooks (`hooks/judging.py`) judge an existing change the same way.

`project.py` collects the commands that a project's files name, and takes the first whose runner and plugins
are installed; if it does not work, the verdict is NOT TESTED and says why. pytest, unittest and Django run
under our recorder, test by test, with ids `path::Class::method`; `runners/` has an adapter for each runner
of another language, which names tests `path::name`. Packages of a workspace are run one by one
(`runners/registry.py`), and so are Python packages with a configuration of their own (`layout.py`). Other
commands count by the report that they write, or by exit code, which proves nothing.

A cold run starts in `verify/target/coder_start.py`, which loads the recorder before the tree can be
imported. Records come over a sealed pipe (`launch.py`); each target's function is observed beside what
the runner says; both sides run the same selection. Everything in `verify/target/` runs in the project's own
interpreter: standard library only, Python 3.8 and pytest 6.2 or later. If a changed module was loaded from
outside the worktree (an editable install), the verdict is NOT TESTED. A report on given content in a given
environment is kept for a day (`run.py`); what has to be confirmed is run a second time under a label of
its own.

Both sides are built from their own sources (`build.py`) by the setting `build`, or by what a script of
package.json runs before its tests, once for each content unless it compiles the tests. Packages that tests
lack are asked about once and installed into an overlay (`dependencies.py`), read-only to later runs. Edits of
a search and mutants are tried in forks of a process that has collected the tests (`coder/warm`), for
information only.
"""
