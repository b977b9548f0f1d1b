"""History of a repository: log, blame, and existing changes to verify."""
