"""Agent loop of a session: event log, phases, turns, tool calls, approvals and limits.

A request that continues a session is a session of its own (`session/continuation.py`): its log opens with
the earlier conversation, byte for byte, in one event; `wiring/conversations.py` follows the chain. To rewind
or fork is to store an earlier point of the chain as a session that was stopped before its first message. An
interrupted session goes on where its log ends (`tests/session/test_resume_grid.py`). What the user says on
the way waits until the next request takes it (`session/context.py`).
"""
