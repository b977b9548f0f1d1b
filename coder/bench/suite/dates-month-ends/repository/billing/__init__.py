"""When subscriptions are due, and what they cost."""
