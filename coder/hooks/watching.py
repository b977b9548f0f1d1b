"""Live verdicts: a checkout is judged whenever its content has changed and come to rest."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coder import api
from coder.core.errors import CoderError
from coder.hooks.judging import Judge
from coder.repo.history.work_tree import WorkTreeState, read_work_tree

QUIET_SECONDS = 2.0
"""Time without an edit before a change is judged."""
LOOK_SHARE = 20
"""Looking at the work tree may take one part in so many of the time."""


@dataclass(frozen=True, kw_only=True)
class LiveVerdict:
    """The judgement of one state of a checkout."""

    tree: str
    result: api.Result | None
    """None if there is no change, or it could not be judged."""
    text: str
    """One sentence."""


def watch_verdicts(
    directory: Path,
    *,
    base: str = "",
    judge: Judge = api.verify,
    read: Callable[[Path], WorkTreeState] = read_work_tree,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[LiveVerdict]:
    """Yield a verdict on each state in which a checkout comes to rest, without end.

    Commits made meanwhile belong to the change. `base` is the commit to compare with; empty is the present
    HEAD.

    Raises:
        UserError: there is no repository that can be worked with.
    """
    first = read(directory)
    base = base or first.head
    seen, judged, quiet_since = first.tree, "", clock() - QUIET_SECONDS
    if first.tree == first.base_tree(base):
        judged = first.tree
    while True:
        looked_at = clock()
        state = read(directory)
        if state.tree != seen:
            seen, quiet_since = state.tree, clock()
        elif seen != judged and clock() - quiet_since >= QUIET_SECONDS:
            judged = seen
            yield _judge(state, base, judge)
            continue
        sleep(max(QUIET_SECONDS / 4, LOOK_SHARE * (clock() - looked_at)))


def _judge(state: WorkTreeState, base: str, judge: Judge) -> LiveVerdict:
    if state.tree == state.base_tree(base):
        return LiveVerdict(tree=state.tree, result=None, text="Nothing differs from the start any more.")
    try:
        result = judge(repository=state.root, against=state.find_base(base))
    except CoderError as error:
        return LiveVerdict(tree=state.tree, result=None, text=str(error))
    return LiveVerdict(tree=state.tree, result=result, text=result.summary)
