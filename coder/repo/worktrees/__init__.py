"""Linked worktrees, snapshots, and the trees of a session."""
