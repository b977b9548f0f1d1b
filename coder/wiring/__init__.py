"""The one place that names concrete classes and hands them to each other."""
