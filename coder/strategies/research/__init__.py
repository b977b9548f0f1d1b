"""Research: a question split into parts, researched in parallel, evaluated, and put together."""
