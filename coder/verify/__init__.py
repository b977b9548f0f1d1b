"""Verification of changes by the project's own tests.

`verify/verifier.py` judges a change by runs in clean worktrees (`judgement.py`, `red_check.py`,
`regressions.py`):

1. targets on the change: green;
2. the base with the change's tests alone: red, twice, for the right reason (`results/failure_reasons.py`;
   for new API, the lack of a name that the change adds, `results/new_names.py`);
3. the suite, or the impacted tests, on the change against the base: nothing newly red, seen again on both
   sides before it counts;
4. if the change edits or removes tests: the base's own versions of these on the changed sources, so that a
   rewritten test hides nothing.

Targets are run by name: the tests that the user names, those that the change adds or edits
(`test_files/changed_tests.py` compares the syntax of both versions of a file; other languages run the whole
file), and red tests of the base that `change/issue_ties.py` ties to the issue (a shared example, an error
message, a rare identifier). A new test must share a stemmed word with the issue. Every other red test is an
old failure: it is mentioned once, and neither proves nor blocks anything, whatever a model names; user and
model may exclude further tests (`--not-test`, `hand_over`). A test counts as new, missing, red or green on
a side only if it ran there, and a run that was cut off asks nothing of files that it did not reach.
`verdict/caps.py`, `review/harness_access.py` and `review/overfitting.py` keep a verdict from being PROVEN
(docs/threat-model.md); `review/change_review.py` reads the change for weakened tests and special
cases (renamed tests are followed by `test_files/successors.py`), `languages/` does so in other languages
than Python, and `change/issue_gaps.py` finds additions that only the change's tests use;
`results/triage.py` classes red tests, and `results/sandbox_failures.py` those that the sandbox causes.
`coder verify` judges an existing change the same way (`strategies/verify_phase.py`), and so do the hooks of
other agents and of git: `hooks/judging.py` compares the work tree at the end of a turn with HEAD at the
start of the agent's session, and remembers what it judged.

`verify/project.py` collects the commands that a project's files name. `verify/run.py`
runs a sample of small test files with each until one works, and remembers it; if none does, the verdict is
INCONCLUSIVE and says why. A command has a kind (`project/command.py`): pytest, unittest and Django run
under our recorder, test by test, with ids `path::Class::method`; `running/labels.py` translates files to
the labels of the latter two. `verify/runners/` has an adapter for each runner of another language (Vitest,
Jest, Mocha, `node --test`, `go test`, `cargo test`, RSpec; in `xml_reports/` Maven, Gradle, CTest, PHPUnit,
`dotnet test`): it adds its own report, runs single tests or files, names tests `path::name`, and reports
what cannot be compiled as a red test file. Builds in a package's test script run before
(`verify/runners/javascript.py`). Packages of a workspace are run one by one, each with its own script
(`workspaces.py` beside it); Go, Cargo, Maven and Gradle have modules of their own. The only Python project
below a root is run from the root, with its own configuration. Other commands count by the report that they
write, or by exit code, which proves nothing.

A cold run starts in `verify/target/coder_start.py`, which loads the recorder before the tree can be
imported. Records come over a sealed pipe (`verify/recording.py`); each target's function is
observed beside what the runner says; both sides run the same selection. Everything in `verify/target/` runs
in the project's own interpreter, with the standard library only. If a changed module was loaded from
outside the worktree (an editable install), the verdict is INCONCLUSIVE.

Worktrees have copies of the checkout's extension modules. Once a change touches what these are compiled
from, `verify/extensions.py` builds them from each side's own sources, in the sandbox, and only they reach the
worktrees that are tested. A change that does not compile is BROKEN; a base that does not, a missing library
or an unknown build is INCONCLUSIVE.

The user may cut large runs short (`core/phases.py`): they end as if their time limit were reached, and so
do all that follow for this verdict.

The base's own suite is run before a change only where it is short (`verify/base.py`); else its
tests are collected, and only those are run that do not pass on the change. Large runs are split by file
over all cores (`verify/run.py`). How long a suite takes, and whether it bears that, is
remembered (`verify/project.py`). Worktrees are reset, not made anew (`repo/worktrees.py`).

If the whole suite takes longer than `foreground_suite_seconds`, `verify/select.py` selects
the test files that the change can reach, by the names of the changed definitions and their callers
(`callers.py`), or by imports where names lead to no test. The verdict says so (`scope`), and is PASSING at
most if these were cut off, or if `suite = "whole"` was asked for. A test that uses more processor time than
any that ends (`verify/target/coder_limits.py`) is red where it was, and the others run.

After such a verdict, outside of CI, a process at the lowest priority runs `coder verify --suite whole` on
the same change: a session of its own, which the first one's directory names (`wiring/whole_suite.py`). If
it finds the change broken, the commit's note says so, the next command of coder there says so first, and
`coder apply` refuses the change.

A good verdict is examined once more (`verdict/examination.py`): each hunk left out and each changed line
broken, in forks of a warm process (`verify/mutate.py`); the project's own linters on both sides
(`review/linters.py`); public names (`review/api_diff.py`); the issue's own code where no test shows the
change (`review/issue_scripts.py`), and whether code that it quotes still raises what it reports
(`change/persisting_errors.py`).

Warm processes are for information only. Once a verdict was red, or a model runs tests,
`verify/warm.py` keeps the base's tests collected and traced: the tests that a change reaches are
then tried in forks first, quickest and most diverse first, and the first red one is reported at once.

Packages that tests lack are asked about once (`session/approval.py`) and installed, wheels only, into an
overlay under the state directory (`verify/dependencies.py`, `project/overlay.py`), read-only to
later runs. A hunk that changes no verdict (`session/delivery.py`) is marked in a review;
`session/delivery.py` leaves it out and has the rest proven again.
"""
