"""Agent loop of a session: event log, phases, turns, tool calls, approvals and limits."""
