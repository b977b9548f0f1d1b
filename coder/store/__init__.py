"""Storage of sessions: the log as JSON lines, large outputs by their hash.

`$XDG_STATE_HOME/coder/sessions/<id>/events.jsonl` is the truth: a format version, then one record a line,
flushed each. Large outputs are blobs by their SHA-256. Keys come from the environment and never reach an
event.
"""
