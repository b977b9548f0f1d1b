"""Plan, then execute: the planner, its steps, and the strategy that runs them."""
