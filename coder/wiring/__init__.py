"""Construction of concrete classes and their dependencies."""
