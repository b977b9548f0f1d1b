"""Planning: the planner, its steps, and the strategy that executes them."""
