"""Repair strategies: routes through the phases, and functions that combine them.

Each is a composition over that loop (`strategies/registry.py` names them all):

- linear: `follow_route(LINEAR_ROUTE)`: locate, reproduce, edit, verify, then diagnose, repair, verify.
  Stops at a good verdict, or with the attempts spent.
- plan: `plan_and_execute(finish)`: a planner's steps, one edit each; then reproduce, edit, verify. Stops as
  linear; where a step, its check or the whole fails the planner amends what is left.
- tree: `follow_route(LOCATE_ROUTE)`, then `best_of`: fork, edit (diagnose and repair where red), verify;
  the best go on, and hear what the others changed and how it failed. Stops at the first candidate that is
  proven; the attempts are shared by all branches.
- committee: the same, with `review_and_repair(verify)`: each proven candidate is read (correctness;
  tests), what is flagged is mended and read again; a failed change is read first by
  a reader who proposes the correction. Stops at the first that is proven and approved.
- auto: locate; plan where three files or more belong to it; else one linear attempt; then the tree. Stops
  as the strategy it chose, each with its reason in the log.
- offline: `search_repair`: no model. Stops at the first kind of edit that holds; ends with a fix, with the
  edits that pass and the call that decides, or with the issue's example as a failing test.

A security reviewer is added only where a change touches risky files (`session/review.py`), a reviewer of
behavior where calls beyond those of the tests are answered otherwise (`strategies/review.py`). A fork shares
the conversation so far and the tests; what its parent changed elsewhere is set aside.

Each planner, reviewer, researcher and evaluator is a candidate of its own in the log (`c1/plan`,
`c1/review-1/tests`, `c1/research-1/2`): a fresh conversation over the same worktree. The writer of a
research is `c1` itself, so that a follow-up question continues a conversation that holds the findings.

`research.py` researches a question in rounds of `fan_out`, which does parts in parallel, and again where the
evaluation asks for it:

    plan -> research-1/1, research-1/2, ... -> evaluate-1 --synthesize--> report
                      ^                             | deepen: the gaps only, up to --max-iterations
                      +-----------------------------+

`coder build` runs `build.py` over the same session, phases, forks, budget and log, in rounds of the same
`fan_out`, each component in a fork of its own (`c1-store`); `StageChanged` events show its stages:

    PLAN -> GENERATE -> REVIEW 1 -> FIX 1 -> REVIEW 2 -> ... -> INTEGRATE -> verify, diagnose, repair
"""
