"""Git as a session needs it: worktrees, snapshots, delivery, history."""
