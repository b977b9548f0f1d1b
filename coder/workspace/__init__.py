"""A candidate's worktree as tools see it: paths, read and write permissions, places named so far."""
