"""Git operations of a session: worktrees, snapshots, delivery, history.

A candidate works in a linked worktree (detached, under the state directory) at HEAD plus a snapshot of the
uncommitted work. The snapshot and a commit for each reply that changes files are kept under
`refs/coder/<session>/`: `heads/<candidate>` is a candidate's private branch, which a rollback moves,
`steps/<n>` every commit; they go when the session ends, whose log holds each change as a diff. The
branch `coder/<slug>-<id>` is made only when there is something to deliver: HEAD plus the fix alone, proven
again there if the uncommitted work had been part of the base, one commit, verdict in trailers, evidence as
a note (`git log --notes=coder`). A fix that needs the uncommitted work, or changes nothing without it, is
delivered as a diff.

A worktree gets what tests need and git ignores: generated and built files as copies (`repo/artifacts.py`;
Meson's extension modules from its build directories, PHP packages of Composer), and `node_modules` as
directories of links into the checkout, except that links to the project's own workspaces lead to the
worktree's, and installed packages that depend on one are copied (`artifacts.py`). Commands read
the linked packages, and write caches beside the links.

What tests, tracing and search write in that worktree is reverted (`SessionRepository.restore_on_exit`);
what a command of the model writes is part of the change. A killed session is cleaned up by the next one
(`repo/repository.py`). Git is started by one class, `repo/git.py`, on a stand-in of the shared git directory
(`repo/git.py`): its objects and refs, allowlisted configuration, no filters. A delivery is written to
`delivery.json` before note and branch are made; where the user's git configuration sets `commit.gpgSign`,
delivered commits, copies and reverts are signed, or it is said why not (`repo/delivery.py`);
`wiring/conversations.py` completes it, or reverts it if the log says it failed. On another parent than its
own a fix is a copy marked UNVERIFIED.
"""
