"""The engine that repairs simple bugs with no model: where the fault may lie, what may mend it, and which of that to believe."""
