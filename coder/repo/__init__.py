"""Git operations of a session: worktrees, snapshots, delivery, history."""
