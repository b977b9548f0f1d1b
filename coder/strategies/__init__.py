"""Repair strategies: routes through the phases, and functions that combine them.

Each is a composition over that loop (`strategies/registry.py` names them all):

- linear: `follow_route(LINEAR_ROUTE)`: locate, reproduce, edit, verify, then diagnose, repair, verify.
  Stops at a good verdict, or with the attempts spent.
- plan: `plan_and_execute(finish)`: a planner's steps, one edit each; then reproduce, edit, verify. Stops as
  linear; where a step, its check or the whole fails the planner amends what is left.
- tree: `follow_route(LOCATE_ROUTE)`, then `best_of`: fork, edit (diagnose and repair where red), verify;
  the best go on, and hear what the others changed and how it failed. Stops at the first candidate that is
  proven; the attempts are shared by all branches.
- committee: the same, with `review_and_repair(verify)`: each proven candidate is read (correctness; tests;
  simplicity where it is large), what is flagged is mended and read again; a failed change is read first by
  a reader who proposes the correction. Stops at the first that is proven and approved.
- auto: locate; plan where three files or more belong to it; else one linear attempt; then the tree. Stops
  as the strategy it chose, each with its reason in the log.
- offline: `search_repair`: no model. Stops at the first kind of edit that holds; ends with a fix, with the
  edits that pass and the call that decides, or with the issue's example as a failing test.

A security reviewer is added only where a change touches risky files (`permissions/risk.py`), a reviewer of
behavior where calls beyond those of the tests are answered otherwise: it sees issue, diff and these calls in
one request without tools. Reviewers who objected read the repaired change again.
A change that came with locating is verified before siblings are paid for: a tree whose first patch is right
costs what linear does. A fork shares the conversation so far
and the tests; what its parent changed elsewhere is set aside. It differs from its siblings by an approach
and a temperature.

- `session/compaction.py` shortens a conversation before it fills the model's window, by an event that
  `core/state.py` folds; between two compactions each request begins with the one before it (73 % of all
  that 500 turns of 8,000 characters send through 32,768 tokens).
- `session/budget.py` reserves the worst case of each request before it is sent, over all branches and
  roles.
- `strategies/diagnosis.py` treats failures one signature at a time. After two failed repairs of one side
  (code or test) it tries the other, but never blames a test that the change did not touch.
  `strategies/review.py` checks a change before any test is run.
- `strategies/diagnosis.py` reverts a change that has failed twice in the same way, or when the model asks
  for it; its tests stay.
- `python/source.py` compares changes by their syntax trees: the same failing change is never verified
  twice.
- `strategies/review.py` restricts a repair to flagged files and definitions: a change elsewhere is
  rolled back.
- A plan is Markdown (`core/plan.py`): the user may give one (`--plan`), or edit the planner's in the
  interface (`PlanAsked`, answered by `Amend`); the planner amends it where it fails.
- The user's comments in a review are findings, too: `revise_flagged` repairs them before the review goes on
  (`session/review.py`). Lines left out and edits in place are hunks with another body (`EditedHunk`), which
  `patching/git_hunks.py` puts together; they are verified like any part of a change. `ui/tui/review.py`
  shows the same screen for `log diff`, `apply` and `fix --dry-run` on a terminal; a part chosen there is
  not verified, and is applied to the files only.
- A planner or reviewer is a candidate of its own in the log (`c1/plan`, `c1/review-1/tests`): a fresh
  conversation over the same worktree.

Questions

`answer_question` is one phase that reads (`--deep` aside). `research.py` researches a question in
rounds of `fan_out`, which does parts in parallel, and again where the evaluation asks for it:

    plan -> research-1/1, research-1/2, ... -> evaluate-1 --synthesize--> report
                      ^                             | deepen: the gaps only, up to --max-iterations
                      +-----------------------------+

- Each role is a candidate of its own over the one worktree (`c1/plan`, `c1/research-1/2`, `c1/evaluate-1`),
  with the reading tools and its form of `hand_over`; the writer is `c1` itself, so that a follow-up
  question continues a conversation that holds the findings. The notes are in `core/notes.py`.
- Researchers run at the same time, each with an equal share of what is left of the budget; one share stays
  for evaluator and writer. One that dies leaves its part open, and the evaluator is told so. The last round
  is not evaluated, because nothing could follow from it.
- `citations.py` opens every citation when a note is handed over. A place that does not exist is dropped,
  and a claim without any left with it; a place that shares neither identifiers nor enough words with its
  statement is marked as unconfirmed. It reads words, not meaning.
- A session that continues an interrupted research of the same question takes over its notes by candidate
  and checks their citations again; with another question, the planner is told what is known.
- Documents, pages and packages that the user allows (`cli/question_sources.py`) are laid into the worktree
  below `coder-sources/`, which is never delivered: tools read and search them, and citations name them,
  like any file.
- `offline_answer.py` answers without a model: definition, uses, tests and last commits of what the question
  names, else the places that `retrieval/ranking.py` finds by its words.

Building new code

`coder build` runs `strategies/build.py` over the same session, phases, forks, budget and log, in rounds of
the same `fan_out`; `StageChanged` events show its stages:

    PLAN -> GENERATE -> REVIEW 1 -> FIX 1 -> REVIEW 2 -> ... -> INTEGRATE -> verify, diagnose, repair

- The plan is a `Plan` with components (name, purpose, path, API, dependencies, tests), as Markdown like
  that of a fix (`core/plan.py`).
- Each component has a writer: a fork (`c1-store`) with a conversation of its own, which may write that
  component's files only. Writers run concurrently, each with a share of the budget, and `c1` collects their
  files as they come; nobody else's bytes change.
- A review first checks without a model (`build_review.py`): files that are missing, planned names that
  are not defined, imports that lead nowhere, and what stands against a merge. Only if there is nothing a
  reviewer reads all components. What is flagged goes back to its writers; at most `--max-iterations` times.
- Integration asks no model: it offers packages that the imports need, one by one, and adds `__init__.py`
  and pyproject.toml where the project has none (`build.py`), or merges the components into one file
  (`build_review.py`).
- Then `RETRY_ROUTE` verifies and repairs as for any change, but never starts over. Mutants and line
  coverage of the new code go into the verdict.
- A build that is stopped goes on with its plan and with the components that were written
  (`Continuation.plan`).
- Where components are missing at the end, or a limit is reached, the tests still run, and the report says
  which components work.
"""
