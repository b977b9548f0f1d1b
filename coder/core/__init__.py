"""Values and ports: no I/O, no clock, no randomness."""
