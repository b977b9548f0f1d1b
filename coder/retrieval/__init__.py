"""Retrieval of the code that an issue is about, without a model.

`coder/index/` stores definitions, uses, imports and words by content hash in SQLite under
`$XDG_STATE_HOME/coder/index`. Worktrees share equal content; an update stats all files and parses only those
that changed. Ten languages are read by tree-sitter. `ranking.py` ranks files and definitions for an issue:
traceback frames, paths, error messages, imports of a named test, and BM25 over definitions with stemmed
words. The first message of a session is built from it (`orientation.py`). `issue_examples.py` reads the
examples in an issue.
"""
