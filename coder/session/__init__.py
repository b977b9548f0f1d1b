"""The one loop: log, phases, turns, tools, approvals, budget."""
