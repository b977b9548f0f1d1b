"""`coder watch`: a live verdict on whoever's edits."""

from pathlib import Path
from typing import Annotated

import typer

from coder.cli.options import RepositoryOption, TestOption, TrustOption, UnsafeOption


def watch(
    against: Annotated[
        str | None,
        typer.Option(metavar="REV", help="What to compare with.", show_default="HEAD at the start"),
    ] = None,
    issue: Annotated[
        str, typer.Option(metavar="ISSUE", help="What the edits are for, as for fix.", show_default="unknown")
    ] = "",
    repo: RepositoryOption = Path(),
    test: TestOption = None,
    trust: TrustOption = False,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Judge the uncommitted work, and commits made meanwhile, whenever edits come to rest; Ctrl-C ends it.

    Whoever edits, you or any agent: each state gets a line with its verdict, and BROKEN or NOT FIXED its
    tests. Nothing is changed, and no model is asked.
    """
    import sys
    import time
    from functools import partial

    from coder import api
    from coder.cli.options import read_issue
    from coder.core.errors import UserError
    from coder.core.values.text import sanitize_text
    from coder.hooks.watching import watch_verdicts
    from coder.repo.git import find_checkout

    base = find_checkout(repo).git.resolve_commit(against) if against else ""
    if base is None:
        raise UserError(f"There is no commit {against!r} to compare with.")
    judge = partial(
        api.verify,
        issue=read_issue(issue) if issue else "",
        test_command=test,
        trust=trust,
        unsafe_no_sandbox=unsafe_no_sandbox,
    )
    print("Watching; each state in which edits come to rest is judged. Ctrl-C ends it.", file=sys.stderr)
    try:
        for verdict in watch_verdicts(repo, base=base, judge=judge):
            label = f"{verdict.result.label}  " if verdict.result else ""
            print(sanitize_text(f"{time.strftime('%H:%M:%S')}  {label}{verdict.text}"), flush=True)
            judged = verdict.result.verdict if verdict.result else None
            for result in (*judged.broken, *judged.still_red) if judged else ():
                print(sanitize_text(f"          {result.id}"), flush=True)
    except KeyboardInterrupt:
        print("Watched no longer; nothing was changed.", file=sys.stderr)
    return 0
